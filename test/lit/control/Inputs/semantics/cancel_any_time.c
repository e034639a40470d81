// A thread that may be cancelled at any time is, also where there is no cancellation point.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int turns;

static void* yields(void* unused) {
  assert(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
  for (;;) sched_yield();
  return unused;
}

static void* locks(void* unused) {
  int state;
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) == 0);
  assert(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
  for (turns = 0; turns < 3; ++turns) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  assert(pthread_setcancelstate(state, NULL) == 0);
  for (;;) sched_yield();
  return unused;
}

int main(void) {
  void* (*const bodies[])(void*) = {yields, locks};
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    void* result;
    assert(pthread_create(&thread, NULL, bodies[i], NULL) == 0);
    sched_yield();
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  }
  assert(turns >= 3 && pthread_mutex_trylock(&mutex) == 0);
  return 0;
}
