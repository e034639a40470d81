/* A table of handlers that grows by realloc: what it held moves along. BUG: it is looked through without the lock. */
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

typedef int (*handler)(int);
static handler* table;
static int capacity, length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int twice(int x) {
  return 2 * x;
}
static int next(int x) {
  return x + 1;
}

static void add(handler h) {
  pthread_mutex_lock(&lock);
  if (length == capacity) {
    capacity = capacity ? 3 * capacity : 1;
    table = realloc(table, capacity * sizeof *table);
  }
  table[length++] = h;
  pthread_mutex_unlock(&lock);
}

static int all(int x) {
#ifndef BUG
  pthread_mutex_lock(&lock);
#endif
  for (int i = 0; i < length; i++) x = table[i](x);
#ifndef BUG
  pthread_mutex_unlock(&lock);
#endif
  return x;
}

static void* first(void* p) {
  (void)p;
  add(twice);
  add(next);
  return NULL;
}

static void* second(void* p) {
  (void)p;
  add(next);
  const int result = all(1);
  assert(result >= 2 && result <= 5);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert(length == 3);
  free(table);
  return 0;
}
