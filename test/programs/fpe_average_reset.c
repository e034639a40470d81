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

struct statistics {
  pthread_mutex_t lock;
  int sum;
  int samples;
  int reported;
};

static void* reporter(void* arg) {
  struct statistics* s = arg;
  pthread_mutex_lock(&s->lock);
  const int any = s->samples > 0;  // [A]
#ifndef FIXED
  pthread_mutex_unlock(&s->lock);
  pthread_mutex_lock(&s->lock);
#endif
  if (any) s->reported = s->sum / s->samples;  // [C]
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void* period(void* arg) {
  struct statistics* s = arg;
  pthread_mutex_lock(&s->lock);
  s->sum = 0;
  s->samples = 0;  // [B]
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

int main(void) {
  struct statistics statistics = {PTHREAD_MUTEX_INITIALIZER, 30, 3, 0};
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reporter, &statistics);
  pthread_create(&threads[1], NULL, period, &statistics);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return statistics.reported != 0 && statistics.reported != 10;
}
