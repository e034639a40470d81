// One thread writes a message and then a flag; another one that sees the flag reads the message. The litmus
// test MP.
//
// The bug: both stores are relaxed. Under PSO, which keeps a store buffer per location, the flag can become
// visible first. Impossible under SC and TSO.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: pso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the message is read before it has become visible, though the flag is
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef FIXED
#define PUBLISH memory_order_release
#define CONSUME memory_order_acquire
#else
#define PUBLISH memory_order_relaxed
#define CONSUME memory_order_relaxed
#endif

atomic_int message;
atomic_int flag;

static void* sender(void* arg) {
  (void)arg;
  atomic_store_explicit(&message, 42, memory_order_relaxed);  // [A]
  atomic_store_explicit(&flag, 1, PUBLISH);
  return NULL;
}

static void* receiver(void* arg) {
  (void)arg;
  if (atomic_load_explicit(&flag, CONSUME)) {
    assert(atomic_load_explicit(&message, memory_order_relaxed) == 42);  // [B]
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, sender, NULL);
  pthread_create(&threads[1], NULL, receiver, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
