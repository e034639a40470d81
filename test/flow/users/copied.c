/* Blocks that are copied under locks which do not guard them: each thread has a lock of its own, or the one
 * that it just comes to, and copies between the same blocks, of one granule and of many. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 3
#define ROUNDS 3000
#define BLOCKS 4
#define LONGS 40

static pthread_mutex_t locks[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                         PTHREAD_MUTEX_INITIALIZER};
static unsigned long blocks[BLOCKS][LONGS];

static unsigned next(unsigned* random) {
  return (*random = *random * 1664525 + 1013904223) >> 16;
}

static void* work(void* argument) {
  const unsigned me = (unsigned)(unsigned long)argument;
  unsigned random = me * 2654435761u;
  unsigned long mine[LONGS] = {me};
  for (unsigned i = 0; i < ROUNDS; ++i) {
    pthread_mutex_t* const lock = &locks[next(&random) % 4 == 0 ? next(&random) % THREADS : me];
    pthread_mutex_lock(lock);
    for (unsigned j = 0; j < 3; ++j) {
      unsigned long* const to = blocks[next(&random) % BLOCKS];
      const unsigned long* const from = blocks[next(&random) % BLOCKS];
      const unsigned size = 8 + next(&random) % (LONGS * 8 - 7);
      if (to != from) memcpy(to, from, size);
      to[next(&random) % LONGS] += mine[0] * 3 + i;
      memcpy(mine, from, sizeof mine);
    }
    pthread_mutex_unlock(lock);
    if (next(&random) % 8 == 0) memcpy(blocks[next(&random) % BLOCKS], mine, sizeof mine);
  }
  return (void*)mine[1];
}

int main(void) {
  pthread_t threads[THREADS];
  for (unsigned long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  unsigned long all = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    all = all * 31 + (unsigned long)sum;
  }
  printf("%lx\n", all);
  return 0;
}
