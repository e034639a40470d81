/* The C library moves what it sorts while it calls back. */
#include <pthread.h>
#include <stdlib.h>

static unsigned shared = 3;

static int by_value(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return x < y ? -1 : x > y;
}

static void *work(void *argument) {
  for (unsigned i = 0; i < 3; ++i) {
    unsigned values[5] = {9, shared, 4, i, 7};
    qsort(values, 5, sizeof *values, by_value);
    shared += values[1] - values[0];
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  return 0;
}
