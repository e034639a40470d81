// A free list of array cells as a Treiber stack, with a tag beside the index. -DBUG: no tag (ABA).
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#define CELLS 3
static _Atomic uint64_t head;  /* tag, index + 1 */
static _Atomic uint32_t next_of[CELLS + 1];
static _Atomic int owner[CELLS + 1];
static uint32_t take(void) {
  uint64_t old = atomic_load(&head), wanted;
  do {
    uint32_t cell = (uint32_t)old;
    if (cell == 0) return 0;
    uint64_t tag = old >> 32;
#ifndef BUG
    tag++;
#endif
    wanted = tag << 32 | atomic_load(&next_of[cell]);
  } while (!atomic_compare_exchange_weak(&head, &old, wanted));
  return (uint32_t)old;
}
static void give(uint32_t cell) {
  uint64_t old = atomic_load(&head), wanted;
  do {
    atomic_store(&next_of[cell], (uint32_t)old);
    wanted = (old >> 32) << 32 | cell;
#ifndef BUG
    wanted += (uint64_t)1 << 32;
#endif
  } while (!atomic_compare_exchange_weak(&head, &old, wanted));
}
static void use(uint32_t cell) {
  if (!cell) return;
  assert(atomic_exchange(&owner[cell], 1) == 0);
}
static void drop(uint32_t cell) {
  if (!cell) return;
  atomic_store(&owner[cell], 0);
  give(cell);
}
static void* one(void* x) { uint32_t c = take(); use(c); return x; }
static void* two(void* x) {
  uint32_t c = take(); use(c);
  uint32_t d = take(); use(d);
  drop(c);
  return x;
}
int main(void) {
  for (uint32_t i = 1; i <= CELLS; i++) { next_of[i] = i - 1; }
  head = CELLS;
  pthread_t t[2];
  pthread_create(&t[0], 0, one, 0);
  pthread_create(&t[1], 0, two, 0);
  pthread_join(t[0], 0); pthread_join(t[1], 0);
  uint32_t c;
  while ((c = take())) use(c);
}
