// Two threads each count one event in a shared counter.
//
// The bug: the increment is a load and a store; one of the two can be lost. The plainest data race there is.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread loads before the other one stores (in both directions)
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

volatile int events;
#ifdef FIXED
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void* count(void* arg) {
  (void)arg;
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  const int before = events;  // [A]
  events = before + 1;        // [B]
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(events == 2);
  return 0;
}
