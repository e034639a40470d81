// Two threads count together without a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int x;

static void* count(void* number) {
  for (int i = 0; i < (int)(long)number; ++i) ++x;
  return NULL;
}

int main(int argc, char** argv) {
  const int each = atoi(argv[argc - 1]);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, (void*)(long)each);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d of %d\n", x, 2 * each);
  return 0;
}
