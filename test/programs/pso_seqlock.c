// A seqlock around two numbers that are always equal. The reader tries once and ignores what it read when the
// sequence number was odd or has changed.
//
// The bug: the writer has no fences. Under PSO a number can become visible before the odd sequence number, and
// the reader believes in a mixed pair. Impossible under SC and TSO.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: pso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the sequence number is read again before the odd one has become visible
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_uint sequence;
atomic_int first;
atomic_int second;

static void* writer(void* arg) {
  (void)arg;
  atomic_store_explicit(&sequence, 1, memory_order_relaxed);  // [A]
#ifdef FIXED
  atomic_thread_fence(memory_order_release);
#endif
  atomic_store_explicit(&first, 5, memory_order_relaxed);
  atomic_store_explicit(&second, 5, memory_order_relaxed);
#ifdef FIXED
  atomic_store_explicit(&sequence, 2, memory_order_release);
#else
  atomic_store_explicit(&sequence, 2, memory_order_relaxed);
#endif
  return NULL;
}

static void* reader(void* arg) {
  (void)arg;
  const unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
  if (before % 2 != 0) return NULL;
  const int a = atomic_load_explicit(&first, memory_order_relaxed);
  const int b = atomic_load_explicit(&second, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&sequence, memory_order_relaxed) == before) assert(a == b);  // [B]
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
