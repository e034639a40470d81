// Three philosophers, three forks, two meals each.
//
// The bug: everybody takes the left fork first. All three can hold one fork and wait for the next: a cycle of
// three.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B each philosopher takes a left fork before a neighbour takes it as the right one
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { kPhilosophers = 3, kMeals = 2 };

pthread_mutex_t forks[kPhilosophers] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER};
int meals[kPhilosophers];

static void* philosopher(void* arg) {
  const int me = *(const int*)arg;
  int left = me;
  int right = (me + 1) % kPhilosophers;
#ifdef FIXED
  if (left > right) {
    const int swap = left;
    left = right;
    right = swap;
  }
#endif
  for (int i = 0; i < kMeals; ++i) {
    pthread_mutex_lock(&forks[left]);   // [A]
    pthread_mutex_lock(&forks[right]);  // [B]
    ++meals[me];
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kPhilosophers];
  int ids[kPhilosophers];
  for (int i = 0; i < kPhilosophers; ++i) {
    ids[i] = i;
    pthread_create(&threads[i], NULL, philosopher, &ids[i]);
  }
  for (int i = 0; i < kPhilosophers; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kPhilosophers; ++i) assert(meals[i] == kMeals);
  return 0;
}
