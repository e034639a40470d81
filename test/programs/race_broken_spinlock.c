// A spin lock of one's own, with a counter under it.
//
// The bug: acquiring tests the flag and sets it in two steps. Both threads can find it free.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread finds the lock free before the other one takes it (in both directions)
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int held;
volatile int counter;

static void acquire(void) {
#ifdef FIXED
  while (atomic_exchange(&held, 1)) {
  }
#else
  while (atomic_load(&held)) {  // [A]
  }
  atomic_store(&held, 1);  // [B]
#endif
}

static void release(void) {
  atomic_store(&held, 0);
}

static void* count(void* arg) {
  (void)arg;
  acquire();
  const int before = counter;
  counter = before + 1;
  release();
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 2);
  return 0;
}
