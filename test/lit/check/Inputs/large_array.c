// Two threads fill an array that main() sums up.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SIZE = 20000 };
static int* array;

static void* fills(void* half) {
  for (size_t i = (size_t)half * SIZE / 2; i < ((size_t)half + 1) * SIZE / 2; ++i) array[i] = (int)i;
  return NULL;
}

int main(void) {
  array = calloc(SIZE, sizeof *array);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, fills, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  long sum = 0;
  for (int i = 0; i < SIZE; ++i) sum += array[i];
  assert(sum == (long)SIZE * (SIZE - 1) / 2);
  return 0;
}
