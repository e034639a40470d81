/* One thread that computes: sieve, matrices, a hash over bytes, a sort. Nothing is shared, so nothing is symbolic.
 *
 *   kernel ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSieve = 20000, kSide = 48, kText = 1 << 14, kNumbers = 2000 };

static unsigned char composite[kSieve];
static double a[kSide][kSide], b[kSide][kSide], c[kSide][kSide];
static uint8_t text[kText];
static uint32_t numbers[kNumbers];

static unsigned sieve(void) {
  unsigned primes = 0;
  for (unsigned i = 0; i < kSieve; ++i) composite[i] = 0;
  for (unsigned i = 2; i < kSieve; ++i) {
    if (composite[i]) continue;
    ++primes;
    for (unsigned j = 2 * i; j < kSieve; j += i) composite[j] = 1;
  }
  return primes;
}

static unsigned multiply(unsigned round) {
  for (unsigned i = 0; i < kSide; ++i)
    for (unsigned j = 0; j < kSide; ++j) a[i][j] = i + j + round, b[i][j] = i * j % 7;
  for (unsigned i = 0; i < kSide; ++i)
    for (unsigned j = 0; j < kSide; ++j) {
      double sum = 0;
      for (unsigned k = 0; k < kSide; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  return (unsigned)c[3][5];
}

static uint32_t hash(uint32_t state) {
  for (unsigned i = 0; i < kText; ++i) text[i] = (uint8_t)(state >> i % 24);
  for (unsigned i = 0; i < kText; ++i) state = (state ^ text[i]) * 16777619u;
  return state;
}

static uint32_t sort(uint32_t seed) {
  for (unsigned i = 0; i < kNumbers; ++i) numbers[i] = seed = seed * 1664525u + 1013904223u;
  for (unsigned gap = kNumbers / 2; gap > 0; gap /= 2)
    for (unsigned i = gap; i < kNumbers; ++i) {
      const uint32_t value = numbers[i];
      unsigned j = i;
      for (; j >= gap && numbers[j - gap] > value; j -= gap) numbers[j] = numbers[j - gap];
      numbers[j] = value;
    }
  return numbers[kNumbers / 2];
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 1;
  uint32_t all = 1;
  for (int i = 0; i < rounds; ++i) all = hash(all + sieve() + multiply((unsigned)i) + sort(all));
  printf("%u\n", (unsigned)all);
  return 0;
}
