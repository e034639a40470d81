// Store buffering in which each thread returns what it read: nothing else tells main. -DBUG: without the order that forbids both to read 0.
// safe: sc tso pso; bug: tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef BUG
#define ORDER memory_order_relaxed
#else
#define ORDER memory_order_seq_cst
#endif
static atomic_int x, y;
static void* first(void* p) {
  atomic_store_explicit(&x, 1, ORDER);
  return (void*)(long)atomic_load_explicit(&y, ORDER);
}
static void* second(void* p) {
  atomic_store_explicit(&y, 1, ORDER);
  return (void*)(long)atomic_load_explicit(&x, ORDER);
}
int main(void) {
  pthread_t t, u;
  void *r, *s;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, &r);
  pthread_join(u, &s);
  assert(r || s);
}
