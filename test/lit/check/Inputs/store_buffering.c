// Each thread writes its variable and reads the other's.
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
volatile int seen[2];

static void* first(void* unused) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
  return unused;
}

static void* second(void* unused) {
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  seen[1] = atomic_load_explicit(&x, memory_order_relaxed);
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, first, 0);
  pthread_create(&two, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
