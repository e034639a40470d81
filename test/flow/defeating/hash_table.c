// A hash table with open addressing that two threads fill without a lock. The key of each entry is made of a hash of the entry that
// was the last, so where entries come to lie, and which are lost, depends on every step before.
#include <assert.h>
#include <pthread.h>
#include <sched.h>

#include "walk.h"

enum { kPlaces = 509, kEntries = 60 };

volatile uint64_t keys[kPlaces];
volatile uint64_t last = 1;

static uint64_t hash(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}

static void add(volatile uint64_t* table, uint64_t key) {
  uint64_t at = key % kPlaces;
  for (int tries = 0; tries < 8; ++tries, at = (at + 1) % kPlaces) {
    const uint64_t there = table[at];
    table[at] = there == 0 ? key : hash(there ^ key);
    key += there;
  }
}

static void* work(void* argument) {
  const uint64_t self = (uintptr_t)argument;
  for (uint64_t i = 0; i < kEntries; ++i) {
    last = hash(last + self * 64 + i);
    add(keys, last | 1);
    if (i % 8 == self) sched_yield();
  }
  return NULL;
}

int main(void) {
  static volatile uint64_t expected[kPlaces];
  uint64_t chain = last;
  for (uint64_t self = 0; self < 2; ++self)
    for (uint64_t i = 0; i < kEntries; ++i) {
      chain = hash(chain + self * 64 + i);
      add(expected, chain | 1);
    }
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  uint64_t sum = 0, wanted = 0;
  for (int i = 0; i < kPlaces; ++i) {
    sum = hash(sum ^ keys[i]);
    wanted = hash(wanted ^ expected[i]);
  }
  walk(sum);
  assert(sum == wanted);
}
