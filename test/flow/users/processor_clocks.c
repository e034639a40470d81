/* What the processor says on its own: time stamps, random numbers, which processor it is; by the compiler's
 * functions and by inline assembly. It goes into shared memory and decides. NO_CPUID: without what controlled
 * runs leave as it is. */
#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

#define THREADS 4
#define ROUNDS 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum, odd, unlocked;

static uint64_t stamp_of_assembly(void) {
  uint32_t low, high;
  __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t)high << 32 | low;
}

__attribute__((target("rdrnd"))) static uint64_t chance(void) {
  unsigned long long random = 0;
  return _rdrand64_step(&random) ? random : 7;
}

static uint64_t ask(int round, int has_random) {
  unsigned processor = 0, a, b, c, d;
  switch (round % 5) {
    case 0:
      return __rdtsc();
    case 1:
      return __rdtscp(&processor) + processor;
    case 2:
      return stamp_of_assembly();
    case 3:
      return has_random ? chance() : __rdtsc();
    default:
#ifdef NO_CPUID
      return 0;
#endif
      __get_cpuid(1, &a, &b, &c, &d); /* b: on which processor */
      return b;
  }
}

static void* work(void* unused) {
  (void)unused;
  unsigned a, b, c = 0, d;
  const int has_random = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_RDRND) != 0;
  for (int i = 0; i < ROUNDS; ++i) {
    const uint64_t said = ask(i, has_random);
    unlocked += said;
    pthread_mutex_lock(&lock);
    sum = sum * 31 + said + unlocked;
    if (said % 2 != 0) ++odd;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  printf("%llx %llu\n", (unsigned long long)sum, (unsigned long long)odd);
  return 0;
}
