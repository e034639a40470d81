/* A journal that threads write to by a function with any number of arguments: bit fields, floating point numbers, a table that is sorted with callbacks, and
 * counters that are updated without a lock. */
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 2, kEntries = 4, kMost = kThreads * kEntries };

struct flags {
  unsigned kind : 3;
  unsigned urgent : 1;
  int level : 5;
  unsigned long long number : 40;
};

struct entry {
  struct flags flags;
  double weight;
  float parts[3];
  char text[24];
};

static struct {
  pthread_mutex_t lock;
  struct entry entries[kMost];
  int count;
  double total;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic unsigned urgent_entries;
static unsigned long guesses; /* a race, without harm */

/* Of each letter in `kinds`: i an int, d a double, s a text. */
static double note(unsigned kind, const char* kinds, ...) {
  struct entry entry = {.flags = {.kind = kind, .urgent = kind % 2, .level = -(int)kind}};
  va_list arguments;
  va_start(arguments, kinds);
  int parts = 0;
  for (const char* at = kinds; *at != 0; ++at) {
    if (*at == 'i') {
      entry.flags.number = entry.flags.number * 1000 + (unsigned)va_arg(arguments, int);
    } else if (*at == 'd') {
      const double value = va_arg(arguments, double);
      entry.weight += value * 0.5;
      if (parts < 3) entry.parts[parts++] = (float)value;
    } else {
      strncpy(entry.text, va_arg(arguments, const char*), sizeof entry.text - 1);
    }
  }
  va_end(arguments);
  pthread_mutex_lock(&journal.lock);
  journal.entries[journal.count++] = entry;
  journal.total += entry.weight;
  const double total = journal.total;
  pthread_mutex_unlock(&journal.lock);
  if (entry.flags.urgent) atomic_fetch_add(&urgent_entries, 1);
  return total;
}

static void* write_some(void* argument) {
  const int first = *(int*)argument;
  double seen = 0;
  for (int i = 0; i < kEntries; ++i) {
    const unsigned kind = (unsigned)(first + i) % 8;
    const double total = i % 2 == 0 ? note(kind, "id", first * 10 + i, 1.25 * i) : note(kind, "isdd", i, "some text", 0.5, 2.0 * first);
    assert(total >= seen);
    seen = total;
    guesses = guesses * 3 + (unsigned long)kind;
  }
  return NULL;
}

static int by_number(const void* a, const void* b) {
  const struct entry *first = a, *second = b;
  const unsigned long long x = first->flags.number, y = second->flags.number;
  return x < y ? -1 : x > y ? 1 : first->flags.level - second->flags.level;
}

int main(void) {
  pthread_t threads[kThreads];
  int firsts[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    firsts[i] = i + 1;
    pthread_create(&threads[i], NULL, write_some, &firsts[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  assert(journal.count == kMost && urgent_entries == 4);
  struct entry* sorted = malloc(sizeof journal.entries);
  memcpy(sorted, journal.entries, sizeof journal.entries);
  qsort(sorted, kMost, sizeof *sorted, by_number);
  double total = 0;
  for (int i = 0; i < kMost; ++i) {
    assert(i == 0 || by_number(&sorted[i - 1], &sorted[i]) <= 0);
    total += sorted[i].weight;
  }
  assert(total > 0 && total == journal.total);
  free(sorted);
  return 0;
}
