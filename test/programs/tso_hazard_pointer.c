// A shared object behind a pointer. A reader protects it with a hazard pointer while reading; a writer replaces
// it and frees the old one when no hazard pointer names it (otherwise main does, at the end).
//
// The bug: no fence between setting the hazard pointer and looking at the shared pointer again. Under TSO the
// hazard pointer is still in the store buffer when the writer looks at it, and the object is freed while it is
// read.
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the writer reads the hazard pointer before the reader's entry has become visible
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: assert
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct object {
  atomic_long value;
};

_Atomic(struct object*) shared;
_Atomic(struct object*) hazard;
struct object* retired;

static struct object* make(long value) {
  struct object* result = malloc(sizeof *result);
  atomic_init(&result->value, value);
  return result;
}

static void* reader(void* arg) {
  (void)arg;
  struct object* mine = atomic_load(&shared);
  atomic_store_explicit(&hazard, mine, memory_order_relaxed);  // [A]
#ifdef FIXED
  atomic_thread_fence(memory_order_seq_cst);
#endif
  if (atomic_load(&shared) == mine) {
    const long value = atomic_load_explicit(&mine->value, memory_order_relaxed);
    assert(value == 1 || value == 2);
  }
  atomic_store_explicit(&hazard, NULL, memory_order_release);
  return NULL;
}

static void* writer(void* arg) {
  (void)arg;
  struct object* old = atomic_exchange(&shared, make(2));
  if (atomic_load(&hazard) == old) {  // [B]
    retired = old;
  } else {
    free(old);
  }
  return NULL;
}

int main(void) {
  atomic_store(&shared, make(1));
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reader, NULL);
  pthread_create(&threads[1], NULL, writer, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  free(atomic_load(&shared));
  free(retired);
  return 0;
}
