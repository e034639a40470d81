// The end of a Chase-Lev deque with one item: owner and thief must not both get it. BUG: the owner takes it without an exchange.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int top, bottom = 1;
int got[2];
void* owner(void* p) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
  atomic_store_explicit(&bottom, b, memory_order_relaxed);
#ifndef BUG
  atomic_thread_fence(memory_order_seq_cst);
#endif
  int t = atomic_load_explicit(&top, memory_order_relaxed);
  if (t < b) { got[0] = 1; return p; }
  if (t == b) {
#ifdef BUG
    got[0] = 1;
    atomic_store_explicit(&top, t + 1, memory_order_relaxed);
#else
    if (atomic_compare_exchange_strong(&top, &t, t + 1)) got[0] = 1;
#endif
  }
  atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
  return p;
}
void* thief(void* p) {
  int t = atomic_load_explicit(&top, memory_order_acquire);
  atomic_thread_fence(memory_order_seq_cst);
  int b = atomic_load_explicit(&bottom, memory_order_acquire);
  if (t < b && atomic_compare_exchange_strong(&top, &t, t + 1)) got[1] = 1;
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, owner, 0);
  pthread_create(&b, 0, thief, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(got[0] + got[1] == 1);
}
