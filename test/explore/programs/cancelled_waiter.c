// A thread that waits is cancelled; its handler gives the lock back. -DBUG: there is no handler.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int ready, seen;
static void unlock(void* mutex) { pthread_mutex_unlock(mutex); }
static void* wait_for_it(void* p) {
  pthread_mutex_lock(&lock);
#ifndef BUG
  pthread_cleanup_push(unlock, &lock);
#endif
  while (!ready) pthread_cond_wait(&change, &lock);
  seen = 1;
#ifndef BUG
  pthread_cleanup_pop(1);
#else
  pthread_mutex_unlock(&lock);
#endif
  return p;
}
int main(void) {
  pthread_t t;
  void* result;
  pthread_create(&t, 0, wait_for_it, &ready);
  pthread_cancel(t);
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&change);
  pthread_mutex_unlock(&lock);
  pthread_join(t, &result);
  assert(result == (seen ? (void*)&ready : PTHREAD_CANCELED));
}
