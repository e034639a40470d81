// A shared name is made from the one before: as text, from a hash of the text. Two threads do so without a lock. (What functions of
// the C library answer is recorded, and tells the order: so none works on the name.)
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "walk.h"

enum { kNames = 60, kLength = 16 };

char name[kLength] = "the first name";

static uint64_t hash(const char* text) {
  uint64_t h = 14695981039346656037ull;
  for (int i = 0; i < kLength; ++i) h = (h ^ (unsigned char)text[i]) * 1099511628211ull;
  return h ^ (h >> 29);
}

static void rename_it(char* to, unsigned own) {
  uint64_t h = hash(to) + own;
  sched_yield();
  for (int i = 0; i < kLength; ++i, h >>= 4) to[i] = (char)('a' + (h & 15));
}

static void* work(void* argument) {
  const unsigned self = (unsigned)(uintptr_t)argument;
  for (unsigned i = 0; i < kNames; ++i) {
    rename_it(name, self * 1000 + i);
    if (i % 2 == 0) meet((unsigned)i / 2 + 1);
  }
  return NULL;
}

int main(void) {
  char expected[sizeof name];
  memcpy(expected, name, kLength);
  for (unsigned self = 0; self < 2; ++self)
    for (unsigned i = 0; i < kNames; ++i) rename_it(expected, self * 1000 + i);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  walk(hash(name));
  assert(hash(name) == hash(expected));
}
