// A hash table that two threads fill without a lock. What comes to a place is a hash of what was there, of the key and of the entry that
// was the last, so it depends on every step before, and on which of them were lost.
#include <assert.h>
#include <pthread.h>

#include "walk.h"

enum { kPlaces = 509, kEntries = 60 };

volatile uint64_t entries[kPlaces];
volatile uint64_t last = 1;

static uint64_t hash(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ull;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}

static uint64_t add(volatile uint64_t* table, uint64_t key, uint64_t before) {
  uint64_t at = hash(key) % kPlaces;
  for (int tries = 0; tries < 4; ++tries, at = (at + 1) % kPlaces) {
    const uint64_t there = table[at];
    sched_yield();
    before = table[at] = hash(there ^ key) + hash(before);
  }
  return before;
}

static void* work(void* argument) {
  const uint64_t self = (uintptr_t)argument;
  for (uint64_t i = 0; i < kEntries; ++i) {
    last = add(entries, i % 8, last + self);
    if (i % 2 == 0) meet((unsigned)i / 2 + 1);
  }
  return NULL;
}

int main(void) {
  static volatile uint64_t expected[kPlaces];
  uint64_t chain = last;
  for (uint64_t self = 0; self < 2; ++self)
    for (uint64_t i = 0; i < kEntries; ++i) chain = add(expected, i % 8, chain + self);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  uint64_t sum = 0, wanted = 0;
  for (int i = 0; i < kPlaces; ++i) {
    sum = hash(sum ^ entries[i]);
    wanted = hash(wanted ^ expected[i]);
  }
  walk(sum);
  assert(sum == wanted);
}
