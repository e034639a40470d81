// Two threads add records to a shared digest without a lock (rounds of SHA-256's compression). Digests are made so that nobody
// finds what led to one.
#include <assert.h>
#include <pthread.h>

#include "walk.h"

enum { kRecords = 60 };

volatile uint32_t digest[2] = {0x6a09e667u, 0xbb67ae85u};

static uint32_t turn(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void add(volatile uint32_t* to, uint32_t record) {
  const uint32_t a = to[0], e = to[1];
  const uint32_t one = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), zero = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
  to[0] = one * 0x9e3779b1u + zero + (a & e) + record;
  to[1] = e + zero * 0x85ebca6bu + (record ^ a);
}

static void* work(void* argument) {
  const uint32_t self = (uint32_t)(uintptr_t)argument;
  for (uint32_t i = 0; i < kRecords; ++i) {
    add(digest, self * 1000 + i);
    if (i % 2 == 0) meet((unsigned)i / 2 + 1);
  }
  return NULL;
}

int main(void) {
  uint32_t expected[2] = {digest[0], digest[1]};
  for (uint32_t self = 0; self < 2; ++self)
    for (uint32_t i = 0; i < kRecords; ++i) add(expected, self * 1000 + i);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  walk((uint64_t)digest[0] << 32 | digest[1]);
  assert(digest[0] == expected[0] && digest[1] == expected[1]);
}
