// One thread reports the average of the samples taken so far, another one starts a new measuring period.
//
// The bug: the reporter checks that there are samples in one critical section and divides in another.
//
// HEDDLE-FAILURE: fpe
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the check before the reset
// HEDDLE-DECISIVE: B C the reset before the division
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum = 30;
static int samples = 3;
static int reported;

static void* reporter(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  const int any = samples > 0;  // [A]
#ifndef FIXED
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  if (any) reported = sum / samples;  // [C]
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* period(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  sum = 0;
  samples = 0;  // [B]
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reporter, NULL);
  pthread_create(&threads[1], NULL, period, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return reported != 0 && reported != 10;
}
