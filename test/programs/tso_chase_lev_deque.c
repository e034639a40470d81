// The work-stealing deque of Chase and Lev: the owner pushes two items and takes until nothing is left, a thief
// steals.
//
// The bug: take() lacks the fence between announcing the new bottom and reading top. The announcement waits in
// the store buffer, and a thief that has stolen the first item still sees the second one and gets it too: it is
// executed twice.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the thief reads bottom before the owner's new bottom has become visible
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { kCapacity = 4, kItems = 2, kEmpty = -1, kLost = -2 };

struct deque {
  atomic_long top;
  atomic_long bottom;
  atomic_int items[kCapacity];
};

struct deque deque;
atomic_int executed[kItems];

static void push(struct deque* d, int item) {
  const long bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);
  atomic_store_explicit(&d->items[bottom % kCapacity], item, memory_order_relaxed);
  atomic_store_explicit(&d->bottom, bottom + 1, memory_order_release);
}

static int take(struct deque* d) {
  const long bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;
  atomic_store_explicit(&d->bottom, bottom, memory_order_relaxed);  // [A]
#ifdef FIXED
  atomic_thread_fence(memory_order_seq_cst);
#endif
  long top = atomic_load_explicit(&d->top, memory_order_relaxed);
  if (top > bottom) {
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
    return kEmpty;
  }
  int item = atomic_load_explicit(&d->items[bottom % kCapacity], memory_order_relaxed);
  if (top == bottom) {  // the last one: a thief may want it too
    if (!atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_seq_cst,
                                                 memory_order_relaxed)) {
      item = kEmpty;
    }
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
  }
  return item;
}

static int steal(struct deque* d) {
  long top = atomic_load_explicit(&d->top, memory_order_acquire);
  atomic_thread_fence(memory_order_seq_cst);
  const long bottom = atomic_load_explicit(&d->bottom, memory_order_acquire);  // [B]
  if (top >= bottom) return kEmpty;
  const int item = atomic_load_explicit(&d->items[top % kCapacity], memory_order_relaxed);
  if (!atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_seq_cst,
                                               memory_order_relaxed)) {
    return kLost;
  }
  return item;
}

static void execute(int item) {
  assert(atomic_fetch_add(&executed[item], 1) == 0);
}

static void* owner(void* arg) {
  (void)arg;
  for (int i = 0; i < kItems; ++i) push(&deque, i);
  for (int item = take(&deque); item >= 0; item = take(&deque)) execute(item);
  return NULL;
}

static void* thief(void* arg) {
  (void)arg;
  for (int i = 0; i < kItems; ++i) {
    const int item = steal(&deque);
    if (item >= 0) execute(item);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, owner, NULL);
  pthread_create(&threads[1], NULL, thief, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kItems; ++i) assert(executed[i] == 1);
  return 0;
}
