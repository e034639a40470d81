// Two threads iterate a chaotic function of a shared floating-point number, without a lock: its value counts to the last bit.
// (What functions of the mathematics library answer is recorded, and tells the order: so there is none here.)
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "walk.h"

enum { kSteps = 60 };

volatile double place = 0.37;

static double next(double x, double own) {
  const double y = x * 0.9 + own * 0.05;
  return 3.99 * y * (1 - y);
}

static void* work(void* argument) {
  const int self = (int)(intptr_t)argument;
  for (int i = 0; i < kSteps; ++i) {
    const double x = place;
    sched_yield();
    place = next(x, self + i / 64.0);
    if (i % 2 == 0) meet((unsigned)i / 2 + 1);
  }
  return NULL;
}

int main(void) {
  double expected = place;
  for (int self = 0; self < 2; ++self)
    for (int i = 0; i < kSteps; ++i) expected = next(expected, self + i / 64.0);
  pthread_t threads[2];
  for (intptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  const double result = place;
  uint64_t bits;
  memcpy(&bits, &result, sizeof bits);
  walk(bits);
  assert(result == expected);
}
