// A client waits until one of two servers has answered, looking at both in turn; the other server does not answer. -DBUG: it expects the answer of that one.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int answers[2], received;

static void* server(void* unused) {
  (void)unused;
  atomic_store_explicit(&answers[1], 7, memory_order_relaxed);
  while (!atomic_load_explicit(&received, memory_order_relaxed)) {
  }
  return 0;
}

static void* client(void* unused) {
  (void)unused;
  int first, second;
  do {
    first = atomic_load_explicit(&answers[0], memory_order_relaxed);
    second = atomic_load_explicit(&answers[1], memory_order_relaxed);
  } while (first + second == 0);
#ifdef BUG
  assert(first == 7);
#else
  assert(first + second == 7);
#endif
  atomic_store_explicit(&received, 1, memory_order_relaxed);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  atomic_store_explicit(&answers[0], 0, memory_order_relaxed);
  pthread_create(&threads[0], 0, server, 0);
  pthread_create(&threads[1], 0, client, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return 0;
}
