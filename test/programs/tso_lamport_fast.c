// Lamport's fast mutual exclusion (1987) with two threads; each increments a counter once.
//
// The bug: right under sequential consistency, broken under TSO: x and y wait in the store buffer while y and x
// are read, and both threads take the fast path. Repaired with sequentially consistent accesses.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A a thread reads y before the other's entry in y has become visible
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef FIXED
#define ORDER memory_order_seq_cst
#else
#define ORDER memory_order_relaxed
#endif

atomic_int busy[3];  // threads are numbered 1 and 2
atomic_int x;
atomic_int y;
atomic_int counter;

static int load(atomic_int* p) {
  return atomic_load_explicit(p, ORDER);
}
static void store(atomic_int* p, int value) {
  atomic_store_explicit(p, value, ORDER);
}

static void enter(int me) {
  const int other = 3 - me;
  for (;;) {
    store(&busy[me], 1);
    store(&x, me);
    if (load(&y) != 0) {  // [B]
      store(&busy[me], 0);
      while (load(&y) != 0) sched_yield();
      continue;
    }
    store(&y, me);  // [A]
    if (load(&x) == me) return;
    store(&busy[me], 0);
    while (load(&busy[other])) sched_yield();
    if (load(&y) == me) return;
    while (load(&y) != 0) sched_yield();
  }
}

static void leave(int me) {
  store(&y, 0);
  store(&busy[me], 0);
}

static void* work(void* arg) {
  const int me = *(const int*)arg;
  enter(me);
  const int before = atomic_load_explicit(&counter, memory_order_relaxed);
  atomic_store_explicit(&counter, before + 1, memory_order_relaxed);
  leave(me);
  return NULL;
}

int main(void) {
  int ids[2] = {1, 2};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &ids[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 2);
  return 0;
}
