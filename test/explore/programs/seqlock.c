// A sequence lock: a reader that saw the same even number twice has a whole value. BUG: the second look is missing.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int sequence, low, high;
void* writer(void* p) {
  atomic_fetch_add(&sequence, 1);
  atomic_store_explicit(&low, 1, memory_order_relaxed);
  atomic_store_explicit(&high, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
  return p;
}
void* reader(void* p) {
  int before = atomic_load_explicit(&sequence, memory_order_acquire);
  int l = atomic_load_explicit(&low, memory_order_relaxed), h = atomic_load_explicit(&high, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
#ifdef BUG
  if (before % 2 == 0) assert(l == h);
#else
  if (before % 2 == 0 && atomic_load_explicit(&sequence, memory_order_relaxed) == before) assert(l == h);
#endif
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
