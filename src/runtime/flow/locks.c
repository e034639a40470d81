/* Locks: memory that is accessed by whoever holds one.
 *
 * What goes from one section to another (sections.c) several times, of different threads under one lock, is
 * held: its word names the lock, and does not change any more. Who holds the lock accesses it after one
 * comparison, without an atomic operation: others who did so before held the lock before, and the lock's own
 * events are in an order with edges (the paper's O2, found at run time and for each granule).
 *
 * Who does not hold the lock and wants such a granule locks its word, and looks who holds the lock. Who takes a
 * lock has said so, with a fence, before it looks at words: so either it sees that the word is locked, or it is
 * seen here, and what it has under way is waited for as for an owner's (rt_fl_needs_barrier).
 *
 * All this rests on one thread at a time holding a lock. Programs may release a lock that another thread has,
 * or make one anew that is taken. Then the lock is broken, for good: the thread that believed to hold it is
 * stopped from accessing anything by it, before anybody else can have it. */
#include "runtime/flow/words.h"

#define LOCKS 4096
#define LOOKS 4
static struct rt_fl_lock locks[LOCKS];

/* Where there are no words a lock's events are in no order. */
static struct rt_fl_lock* find(const void* object, bool make) {
  const uint64_t at = (uint64_t)(uintptr_t)object;
  if (!has_shadow(at)) return NULL;
  const uint64_t first = at * 0x9e3779b97f4a7c15ull >> 52;
  for (uint64_t i = first; i < first + LOOKS; ++i) {
    struct rt_fl_lock* const lock = &locks[i % LOCKS];
    uint64_t now = LOAD(&lock->object);
    if (now == 0 && !make) return NULL;
    if (now == 0 &&
        __atomic_compare_exchange_n(&lock->object, &now, at, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return lock;
    if (now == at) return lock;
  }
  return NULL;
}

static uint64_t held_word(const struct rt_fl_lock* lock) {
  return HEDDLE_FLOW_WORD(HEDDLE_FLOW_held, 0, lock - locks, 0);
}

struct rt_fl_lock* rt_fl_lock_of(uint64_t word) {
  return &locks[number_of(word)];
}

uint32_t rt_fl_holder_of(uint64_t word) {
  const uint32_t holder = LOAD(&rt_fl_lock_of(word)->holder);
  return holder == 0 ? rt_fl_local->slot : holder - 1;
}

bool rt_fl_holds(uint64_t word) {
  const struct rt_fl_lock* const lock = rt_fl_lock_of(word);
  for (uint32_t i = 0; i < rt_fl_local->hold_count; ++i)
    if (rt_fl_local->holds[i].lock == lock) return !LOAD(&lock->broken);
  return false;
}

/* Who breaks a lock says so first, and then looks who may access by it; who may has said so before it looks
 * whether the lock is broken, with a fence in between. Should the other one lose the right to another lock by
 * that: it has the list (rt_fl_holds). */
static void break_lock(struct rt_fl_lock* lock, uint32_t holder) {
  struct heddle_flow_thread* const other = rt_fl.threads[holder].head;
  __atomic_exchange_n(&lock->broken, 1, __ATOMIC_SEQ_CST);
  do {
    if (LOAD(&other->held) == held_word(lock)) STORE(&other->held, ~0ull);
    rt_fl_barrier();
    rt_fl_last_done(other);
  } while (LOAD(&other->held) == held_word(lock));
}

void rt_fl_begin_hold(const void* object) {
  struct rt_fl_local* const local = rt_fl_local;
  struct rt_fl_lock* const lock = rt_fl.locks ? find(object, true) : NULL; /* this is O2 too */
  if (lock == NULL) return;
  for (uint32_t i = 0; i < local->hold_count; ++i)
    if (local->holds[i].lock == lock) {
      ++local->holds[i].depth;
      return;
    }
  if (local->hold_count == FL_HOLDS || LOAD(&lock->broken)) return;
  STORE(&heddle_flow_self->held, held_word(lock));
  uint32_t holder = 0;
  if (!__atomic_compare_exchange_n(&lock->holder, &holder, local->slot + 1, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST)) { /* the other one is who accesses by it, until it ends */
    STORE(&heddle_flow_self->held, ~0ull);
    break_lock(lock, holder - 1);
    return;
  }
  local->holds[local->hold_count++] = (struct rt_fl_hold){.lock = lock, .depth = 1};
  if (LOAD(&lock->broken)) STORE(&heddle_flow_self->held, ~0ull);
}

void rt_fl_end_hold(const void* object) {
  struct rt_fl_local* const local = rt_fl_local;
  struct rt_fl_lock* const lock = find(object, false);
  if (lock == NULL) return;
  uint32_t i = 0;
  while (i < local->hold_count && local->holds[i].lock != lock) ++i;
  if (i == local->hold_count) {
    const uint32_t holder = LOAD(&lock->holder);
    if (holder != 0 && holder != local->slot + 1 && !LOAD(&lock->broken)) break_lock(lock, holder - 1);
    return;
  }
  if (--local->holds[i].depth != 0) return;
  for (--local->hold_count; i < local->hold_count; ++i) local->holds[i] = local->holds[i + 1];
  const struct rt_fl_lock* const outer =
      local->hold_count == 0 ? NULL : local->holds[local->hold_count - 1].lock;
  STORE(&heddle_flow_self->held, ~0ull);
  if (outer != NULL) {
    __atomic_exchange_n(&heddle_flow_self->held, held_word(outer), __ATOMIC_SEQ_CST);
    if (LOAD(&outer->broken)) STORE(&heddle_flow_self->held, ~0ull);
  }
  STORE(&lock->last, HEDDLE_FLOW_WORD(0, local->slot, rt_fl_number(), 0));
  STORE(&lock->holder, 0);
}
