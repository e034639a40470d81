// Time stamps and chance of the processor, by builtins and by inline assembly, which decide what threads do. They choose their processor by their id.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>
static uint64_t sum, latest[4];
static uint64_t stamp(void) {
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return (uint64_t)high << 32 | low;
}
static void* work(void* argument) {
  const int id = (int)(long)argument;
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(0, &processors);
  if (sched_setaffinity(gettid(), sizeof processors, &processors) != 0) latest[id] = 7;
  for (int i = 0; i < 300; ++i) {
    const uint64_t now = stamp();
    unsigned processor = 0;
    if (now % 3 == 0) sum += now;
    if (__rdtsc() % 5 == 1) latest[id] = latest[(id + 1) % 4] + i;
    latest[id] ^= __rdtscp(&processor) >> 4;
    while (stamp() - now < 2000) sum ^= (uint64_t)id;
  }
  return argument;
}
int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%llx\n", (unsigned long long)sum);
  return sum % 4 == 0;
}
