// A plug-in registers its handler: it fills in a table entry and publishes the entry's address. Another thread
// calls the handler when an entry is there.
//
// The bug: the address is published without release. Under PSO it can become visible before the function
// pointer in the entry, and the caller jumps to address zero. Impossible under SC and TSO.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: pso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the function pointer is read before it has become visible
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

typedef int (*handler)(int);

struct entry {
  _Atomic(handler) call;
};

struct entry table;
_Atomic(struct entry*) published;

static int twice(int value) {
  return 2 * value;
}

static void* register_handler(void* arg) {
  (void)arg;
  atomic_store_explicit(&table.call, twice, memory_order_relaxed);  // [A]
  atomic_store_explicit(&published, &table, PUBLISH);
  return NULL;
}

static void* dispatch(void* result) {
  struct entry* entry = atomic_load_explicit(&published, CONSUME);
  if (entry != NULL) {
    const handler call = atomic_load_explicit(&entry->call, memory_order_relaxed);  // [B]
    *(int*)result = call(21);
  }
  return NULL;
}

int main(void) {
  int result = 0;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, register_handler, NULL);
  pthread_create(&threads[1], NULL, dispatch, &result);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(result == 0 || result == 42);
  return 0;
}
