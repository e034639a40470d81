// Words are counted in a hash table with open addressing by two threads. Looking for a place and taking it are not one step, so
// that an entry may be lost. Which entry depends on the hashes of strings: multiplications and remainders of racing values.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kPlaces = 61, kWords = 24 };

char keys[kPlaces][16];
unsigned counts[kPlaces];
volatile unsigned seed = 1;

static uint64_t hash(const char* text) {
  uint64_t h = 14695981039346656037ull;
  for (; *text != 0; ++text) h = (h ^ (unsigned char)*text) * 1099511628211ull;
  return h ^ (h >> 29);
}

static void count(const char* word) {
  for (uint64_t at = hash(word) % kPlaces;; at = (at + 1) % kPlaces) {
    if (keys[at][0] == 0) {
      sched_yield();
      strcpy(keys[at], word);
    }
    if (strcmp(keys[at], word) == 0) {
      const unsigned before = counts[at];
      sched_yield();
      counts[at] = before + 1;
      return;
    }
  }
}

static void* work(void* argument) {
  for (int i = 0; i < kWords; ++i) {
    char word[16];
    seed = seed * 1103515245u + 12345u;
    snprintf(word, sizeof word, "w%u", (seed >> 16) % 17);
    count(word);
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  unsigned sum = 0;
  for (int i = 0; i < kPlaces; ++i) sum += counts[i];
  assert(sum == 2 * kWords);
}
