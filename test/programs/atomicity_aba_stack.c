// A lock-free stack of three nodes. One thread pops a node; another one pops two and pushes the first of them
// back.
//
// The bug: ABA. The compare-and-swap of the first thread sees the same head again and installs the successor
// that it read long before, a node that the other thread owns. Repaired by a version number beside the head.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A C the successor is read before the other thread pushes the node back
// HEDDLE-DECISIVE: C B the node is pushed back before the compare-and-swap
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { kNodes = 3, kNil = 0 };  // nodes are numbered 1 to 3

atomic_uint next[kNodes + 1];
atomic_uint owned[kNodes + 1];
atomic_uint head;  // node number in the low half, version in the high half

static unsigned new_head(unsigned old, unsigned node) {
#ifdef FIXED
  return (((old >> 16) + 1) << 16) | node;
#else
  (void)old;
  return node;
#endif
}

static unsigned pop(void) {
  for (;;) {
    unsigned old = atomic_load(&head);
    const unsigned node = old & 0xffff;
    if (node == kNil) return kNil;
    const unsigned successor = atomic_load(&next[node]);                          // [A]
    if (atomic_compare_exchange_strong(&head, &old, new_head(old, successor))) {  // [B]
      assert(atomic_exchange(&owned[node], 1) == 0);
      return node;
    }
  }
}

static void push(unsigned node) {
  atomic_store(&owned[node], 0);
  for (;;) {
    unsigned old = atomic_load(&head);
    atomic_store(&next[node], old & 0xffff);
    if (atomic_compare_exchange_strong(&head, &old, new_head(old, node))) return;  // [C]
  }
}

static void* one(void* arg) {
  (void)arg;
  pop();
  return NULL;
}

static void* two(void* arg) {
  (void)arg;
  const unsigned first = pop();
  const unsigned second = pop();
  if (first != kNil) push(first);
  (void)second;  // kept
  return NULL;
}

int main(void) {
  for (unsigned i = 1; i <= kNodes; ++i) push(i);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, one, NULL);
  pthread_create(&threads[1], NULL, two, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  while (pop() != kNil) {
  }
  return 0;
}
