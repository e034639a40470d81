// Blocks that are used by one thread, then handed over under a lock, again and again: the two threads take turns, and none of them sleeps.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 2, kRounds = 200, kSize = 200 };
static unsigned char* handed;
static atomic_ulong turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* argument) {
  const unsigned long self = (unsigned long)argument;
  unsigned long sum = self;
  for (int i = 0; i < kRounds; ++i) {
    while (atomic_load(&turn) % kThreads != self)
      for (int wait = 0; wait < 10000; ++wait) __builtin_ia32_pause();
    unsigned char* const own = malloc(kSize);
    memset(own, (int)sum, kSize);
    sum = sum * 31 + own[i % kSize];
    free(own);
    pthread_mutex_lock(&mutex);
    unsigned char* const old = handed;
    handed = malloc(kSize); /* what was freed above */
    memset(handed, i, kSize);
    if (old != NULL) sum = sum * 31 + old[i % kSize];
    free(old);
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add(&turn, 1);
  }
  return (void*)sum;
}

int main(void) {
  pthread_t threads[kThreads];
  for (unsigned long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    printf("%p\n", sum);
  }
  return 0;
}
