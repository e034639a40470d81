// Two threads square a shared number modulo a prime and add something of their own, without a lock. Every order of their steps gives
// another number, and products of unknown numbers modulo a prime are what solvers cannot turn around.
#include <assert.h>
#include <pthread.h>

#include "walk.h"

enum { kSteps = 60 };
static const uint64_t kPrime = 2305843009213693951ull;

volatile uint64_t number = 3;

static uint64_t next(uint64_t a, uint64_t own) {
  return (uint64_t)(((unsigned __int128)a * a + own) % kPrime);
}

static void* work(void* argument) {
  const uint64_t self = (uintptr_t)argument + 1;
  for (uint64_t i = 0; i < kSteps; ++i) {
    number = next(number, self * 1000003 + i);
    if (i % 2 == 0) meet((unsigned)i / 2 + 1);
  }
  return NULL;
}

int main(void) {
  uint64_t expected = number;
  for (uint64_t self = 1; self <= 2; ++self)
    for (uint64_t i = 0; i < kSteps; ++i) expected = next(expected, self * 1000003 + i);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  walk(number);
  assert(number == expected);
}
