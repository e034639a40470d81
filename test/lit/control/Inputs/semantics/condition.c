// Condition variables: signal wakes at least one, broadcast all, the mutex is held again behind the wait.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t work = PTHREAD_COND_INITIALIZER, done;
int items, taken, stop, inside;

static void* consumer(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (!items && !stop) {
      assert(pthread_cond_wait(&work, &mutex) == 0);
      assert(inside == 0);
    }
    if (!items) break;
    inside = 1;
    --items;
    ++taken;
    assert(pthread_cond_signal(&done) == 0);
    inside = 0;
  }
  assert(pthread_mutex_unlock(&mutex) == 0);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  assert(pthread_cond_init(&done, NULL) == 0);
  assert(pthread_cond_signal(&work) == 0);
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, consumer, NULL) == 0);
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&mutex);
    ++items;
    assert(pthread_cond_signal(&work) == 0);
    while (taken <= i) assert(pthread_cond_wait(&done, &mutex) == 0);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  stop = 1;
  assert(pthread_cond_broadcast(&work) == 0);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(taken == 3 && items == 0);
  assert(pthread_cond_destroy(&done) == 0);
  assert(pthread_cond_destroy(&work) == 0);
  return 0;
}
