// Two threads take turns, as they think, in iterating a function of the mathematics library on a shared number; which values are
// seen decides how often. The result is compared with that of one thread after the other.
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>

enum { kSteps = 40 };

volatile double place = 0.37;
volatile int rounds;

static double next(double x) {
  return fabs(sin(x * 12.9898) * exp(x)) + 0.001;
}

static void* work(void* argument) {
  for (int i = 0; i < kSteps; ++i) {
    const double x = place;
    if (x > 0.5) sched_yield();
    place = next(x);
    ++rounds;
  }
  return argument;
}

int main(void) {
  double expected = place;
  for (int i = 0; i < 2 * kSteps; ++i) expected = next(expected);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(fabs(place - expected) < 1e-12);
}
