// One thread waits until another one has made the data ready.
//
// The bug: the flag is tested before the lock is taken and set without it. The signal can come between the test
// and the wait; nobody hears it, and the waiter sleeps forever.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A C the waiter tests before the flag is set
// HEDDLE-DECISIVE: D B the signal comes before the wait
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
atomic_int ready;
int data;

static void* waiter(void* arg) {
  (void)arg;
#ifdef FIXED
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
#else
  if (!ready) {  // [A]
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock);  // [B]
    pthread_mutex_unlock(&lock);
  }
#endif
  assert(data == 42);
  return NULL;
}

static void* setter(void* arg) {
  (void)arg;
  data = 42;
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  ready = 1;                      // [C]
  pthread_cond_signal(&changed);  // [D]
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, setter, NULL);
  pthread_create(&threads[1], NULL, waiter, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
