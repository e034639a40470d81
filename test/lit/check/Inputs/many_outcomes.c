// Threads that change two variables without a lock: many outcomes. -DBROKEN: one of them is a failure.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 3

static atomic_int first, second;

static void* work(void* argument) {
  const int me = 1 + (int)(long)argument;
  for (int i = 0; i < (me == 1 ? 3 : 2); ++i) {
    atomic_store(&first, atomic_load(&second) * 3 + me);
    atomic_store(&second, atomic_load(&first) + me);
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], 0, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], 0);
#ifdef BROKEN
  assert(atomic_load(&second) % 7 != 3);
#endif
}
