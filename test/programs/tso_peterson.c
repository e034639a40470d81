// Peterson's mutual exclusion; each of two threads increments a counter under it.
//
// The bug: right under sequential consistency, broken under TSO: flag and turn wait in the store buffer while
// the other flag is read, and both threads enter. Repaired with sequentially consistent accesses.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A each thread reads the other flag before that has become visible
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef FIXED
#define ORDER memory_order_seq_cst
#else
#define ORDER memory_order_relaxed
#endif

atomic_int flags[2];
atomic_int turn;
atomic_int counter;

static void* work(void* arg) {
  const int me = *(const int*)arg;
  const int other = 1 - me;
  atomic_store_explicit(&flags[me], 1, ORDER);  // [A]
  atomic_store_explicit(&turn, other, ORDER);
  while (atomic_load_explicit(&flags[other], ORDER) &&  // [B]
         atomic_load_explicit(&turn, ORDER) == other) {
  }
  const int before = atomic_load_explicit(&counter, memory_order_relaxed);
  atomic_store_explicit(&counter, before + 1, memory_order_relaxed);
  atomic_store_explicit(&flags[me], 0, ORDER);
  return NULL;
}

int main(void) {
  int ids[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &ids[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 2);
  return 0;
}
