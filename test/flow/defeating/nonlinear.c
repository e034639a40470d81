// Two threads step through the powers of a shared number, modulo a prime, without a lock: a lost step gives another number at
// the end. Each value is the product of the one before with itself.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { kSteps = 30 };
static const uint64_t kPrime = 2305843009213693951ull;

volatile uint64_t power = 3;

static uint64_t product(uint64_t a, uint64_t b) {
  return (uint64_t)((unsigned __int128)a * b % kPrime);
}

static void* work(void* argument) {
  for (int i = 0; i < kSteps; ++i) {
    const uint64_t now = power;
    if (now % 3 == 1) sched_yield();
    power = product(now, now);
  }
  return argument;
}

int main(void) {
  uint64_t expected = power;
  for (int i = 0; i < 2 * kSteps; ++i) expected = product(expected, expected);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(power == expected);
}
