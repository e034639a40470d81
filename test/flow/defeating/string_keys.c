// Names are made by snprintf from a shared counter that is not increased in one step, and sorted into lists by their texts: two
// threads may make the same name. Values go through the C library as text.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNames = 20 };

volatile unsigned next_name = 1;
char names[2 * kNames][24];

static void* work(void* argument) {
  const long first = (long)argument * kNames;
  for (long i = first; i < first + kNames; ++i) {
    const unsigned mine = next_name;
    sched_yield();
    next_name = mine + 1;
    snprintf(names[i], sizeof names[i], "%x-%o", mine * 2654435761u, mine);
    if (strtoul(names[i], NULL, 16) == 0) abort();
  }
  return NULL;
}

static int compare(const void* a, const void* b) {
  return strcmp(a, b);
}

int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  qsort(names, 2 * kNames, sizeof names[0], compare);
  for (int i = 1; i < 2 * kNames; ++i) assert(strcmp(names[i - 1], names[i]) != 0);
}
