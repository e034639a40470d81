// A spin lock that is taken with an atomic exchange, with a counter under it.
//
// The bug: it is given back with a relaxed store. Under PSO the free lock can become visible before the new
// count, and the next thread counts from the old one. Impossible under SC and TSO (on x86 this unlock is
// right).
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: pso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the next holder reads the count before the previous holder's has become visible
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef FIXED
#define UNLOCK memory_order_release
#else
#define UNLOCK memory_order_relaxed
#endif

atomic_int held;
atomic_int counter;

static void* count(void* arg) {
  (void)arg;
  while (atomic_exchange_explicit(&held, 1, memory_order_acquire)) {
  }
  const int before = atomic_load_explicit(&counter, memory_order_relaxed);  // [B]
  atomic_store_explicit(&counter, before + 1, memory_order_relaxed);        // [A]
  atomic_store_explicit(&held, 0, UNLOCK);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 2);
  return 0;
}
