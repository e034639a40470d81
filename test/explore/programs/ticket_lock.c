// A ticket lock around a counter. BUG: a ticket is drawn by load and store.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_uint next, serving;
int counter;
void* worker(void* p) {
#ifdef BUG
  unsigned mine = atomic_load(&next);
  atomic_store(&next, mine + 1);
#else
  unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
#endif
  while (atomic_load_explicit(&serving, memory_order_acquire) != mine) {}
  int seen = counter;
  counter = seen + 1;
  atomic_store_explicit(&serving, mine + 1, memory_order_release);
  return p;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  assert(counter == 2);
}
