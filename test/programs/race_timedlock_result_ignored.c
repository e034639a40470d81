// Two threads add to a total under a timed lock whose deadline has passed already, so that it is taken at once
// or not.
//
// The bug: the result of pthread_mutex_timedlock() is not looked at. On ETIMEDOUT the thread goes on without
// the lock.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B both threads load the total before one of them stores it
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile int total;

static void* add(void* amount) {
  const struct timespec at_once = {0, 0};
#ifdef FIXED
  if (pthread_mutex_timedlock(&lock, &at_once) != 0) pthread_mutex_lock(&lock);
  const int locked = 1;
#else
  const int locked = pthread_mutex_timedlock(&lock, &at_once) == 0;
#endif
  const int before = total;        // [A]
  total = before + *(int*)amount;  // [B]
  if (locked) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  int amounts[2] = {3, 4};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, &amounts[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(total == 7);
  return 0;
}
