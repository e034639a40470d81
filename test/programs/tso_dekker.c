// Dekker's mutual exclusion; each of two threads increments a counter under it, twice.
//
// The bug: right under sequential consistency, broken under TSO: "I want to enter" waits in the store buffer
// while the other thread's wish is read, and both enter. Also, a late store of `turn` overwrites the other's last
// one, and a thread waits for a turn that never comes. Repaired with sequentially consistent accesses.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A each thread reads the other's wish before that has become visible
// HEDDLE-SMALL: no
// HEDDLE-ALSO: livelock
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef FIXED
#define ORDER memory_order_seq_cst
#else
#define ORDER memory_order_relaxed
#endif

enum { kRounds = 2 };

atomic_int wants[2];
atomic_int turn;
atomic_int counter;

static int load(atomic_int* p) {
  return atomic_load_explicit(p, ORDER);
}
static void store(atomic_int* p, int value) {
  atomic_store_explicit(p, value, ORDER);
}

static void enter(int me) {
  const int other = 1 - me;
  store(&wants[me], 1);          // [A]
  while (load(&wants[other])) {  // [B]
    if (load(&turn) != me) {
      store(&wants[me], 0);
      while (load(&turn) != me) {
      }
      store(&wants[me], 1);
    }
  }
}

static void leave(int me) {
  store(&turn, 1 - me);
  store(&wants[me], 0);
}

static void* work(void* arg) {
  const int me = *(const int*)arg;
  for (int i = 0; i < kRounds; ++i) {
    enter(me);
    const int before = atomic_load_explicit(&counter, memory_order_relaxed);
    atomic_store_explicit(&counter, before + 1, memory_order_relaxed);
    leave(me);
  }
  return NULL;
}

int main(void) {
  int ids[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &ids[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 2 * kRounds);
  return 0;
}
