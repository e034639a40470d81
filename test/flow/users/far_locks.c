/* A lock where the runtime keeps no words: what it guards is ordered by what is recorded of that alone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#define THREADS 3
#define ROUNDS 2000

static pthread_mutex_t* lock;
static unsigned long sums[8];

static void* work(void* argument) {
  const unsigned long me = (unsigned long)argument;
  unsigned long mine = me;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(lock);
    for (unsigned j = 0; j < 8; ++j) sums[j] = sums[j] * 3 + sums[(j + 1) % 8] + me;
    mine = mine * 5 + sums[i % 8];
    pthread_mutex_unlock(lock);
  }
  return (void*)mine;
}

int main(void) {
  lock =
      mmap((void*)0x600000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (lock == MAP_FAILED) return 1;
  pthread_mutex_init(lock, NULL);
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
