// Lamport's bakery with three threads; each increments a counter once.
//
// The bug: right under sequential consistency, broken under TSO: the number a thread draws can still be in its
// store buffer while it looks at the numbers of the others. Repaired with sequentially consistent accesses.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A a thread reads the number of another one before that has become visible
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

enum { kThreads = 3 };

atomic_int choosing[kThreads];
atomic_int numbers[kThreads];
atomic_int counter;

static int load(atomic_int* p) {
  return atomic_load_explicit(p, ORDER);
}
static void store(atomic_int* p, int value) {
  atomic_store_explicit(p, value, ORDER);
}

static int before_me(int other, int number, int me) {
  const int theirs = load(&numbers[other]);  // [B]
  return theirs != 0 && (theirs < number || (theirs == number && other < me));
}

static void enter(int me) {
  store(&choosing[me], 1);
  int number = 0;
  for (int i = 0; i < kThreads; ++i) {
    const int theirs = load(&numbers[i]);
    if (theirs > number) number = theirs;
  }
  ++number;
  store(&numbers[me], number);  // [A]
  store(&choosing[me], 0);
  for (int i = 0; i < kThreads; ++i) {
    if (i == me) continue;
    while (load(&choosing[i])) sched_yield();
    while (before_me(i, number, me)) sched_yield();
  }
}

static void leave(int me) {
  store(&numbers[me], 0);
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
  int ids[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    ids[i] = i;
    pthread_create(&threads[i], NULL, work, &ids[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  assert(counter == kThreads);
  return 0;
}
