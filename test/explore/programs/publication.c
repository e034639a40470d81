// RCU-like publication: readers find old or new, never half. BUG: the pointer is stored relaxed, wrong under PSO only.
// safe: sc tso pso; bug: pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct config { int a, b; };
static struct config first = {1, 1};
static _Atomic(struct config*) current = &first;
#ifdef BUG
enum { ORDER = memory_order_relaxed };
#else
enum { ORDER = memory_order_release };
#endif
void* update(void* p) {
  struct config* fresh = malloc(sizeof *fresh);
  fresh->a = 2;
  fresh->b = 2;
  atomic_store_explicit(&current, fresh, ORDER);
  return p;
}
void* look(void* p) {
  struct config* seen = atomic_load_explicit(&current, memory_order_acquire);
  assert(seen->a == seen->b);
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, update, 0);
  pthread_create(&b, 0, look, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
