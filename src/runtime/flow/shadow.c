/* Events: which accesses of different threads conflict, and in which order they happened.
 *
 * The word of a granule says who may access it without further ado (abi/flow.h). Five ways:
 *
 * - Owned: its owner accesses it after one comparison, in instrumented code. Who wants it otherwise locks the
 * word, and then makes sure that the owner does not access it any more: membarrier() lets every thread of the
 * process pass a fence, so either the owner sees the lock, or its status says that an access is under way, and
 * that one is waited for. Threads in system calls have no access under way: nothing waits for them.
 * - Read: everybody reads. Who writes makes sure in the same way that nobody reads any more.
 * - Guarded: as owned, but only as long as the owner is in the section of its code in which it took the granule
 * (sections.c). Behind that nothing has to be made sure of.
 * - Held: what went from one section to another several times is accessed by whoever holds the lock (locks.c).
 * - Contended: what changed hands often. Each access locks the word, until one thread has made many in a row.
 *
 * Whoever takes over writes down an edge from the last event that can have accessed the granule: of an owner
 * the last that it has done, of a contended granule the one in the word. A thread skips an edge that follows
 * from an earlier one of its own: so sequences of one thread cost nothing but their ends (O1), and what a lock
 * guards nothing beyond the lock's own edge (O2), without anybody having to know which lock that is.
 *
 * Edges never form a cycle: an event happens at the moment when it has locked all of its words, or, without a
 * lock, somewhere in its access; each edge leads from an event that was over to one that had not happened yet.
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/control.h"
#include "runtime/flow/words.h"

#define SETTLED 120 /* so many accesses of one thread in a row make it owned again */
#define SEVERAL 3   /* sections of different threads */
/* In the hands of a contended granule: it is accessed under no lock, or under different ones. */
#define UNGUARDED 128ull

static const uint64_t nothing_seen[HEDDLE_FLOW_SLOTS];
struct heddle_flow_thread rt_fl_nobody = {.tag = ~0ull, .seen = nothing_seen, .guard = ~0ull, .held = ~0ull};
RT_TLS struct heddle_flow_thread* heddle_flow_self = &rt_fl_nobody;
RT_TLS struct rt_fl_local* rt_fl_local;
RT_TLS void* rt_fl_stack;
RT_TLS uint32_t heddle_flow_private;
RT_TLS uint32_t heddle_control_site = HEDDLE_NO_SITE;

static const struct {
  uint64_t from, size;
} shadows[] = {
    {0x200000000000ull, 1ull << 36}, /* executables without a position of their own, small numbers */
    {0x300000000000ull, 1ull << 44}, /* what the runtime places */
    {0x5f0000000000ull, 1ull << 40}, /* libraries, the first stack */
    {0x755500000000ull, 1ull << 37}, /* the executable */
};

void rt_fl_shadow_init(void) {
  _Static_assert(HEDDLE_FLOW_ASIDE <= FL_SHADOW_BLOCK, "words beyond the last block");
  for (size_t i = 0; i < sizeof shadows / sizeof shadows[0]; ++i) {
    const uint64_t size = shadows[i].size + FL_SHADOW_BLOCK;
    const long at = RT_SYS6(SYS_mmap, shadows[i].from, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != (long)shadows[i].from) rt_no_memory();
    RT_SYS3(SYS_madvise, at, size, MADV_DONTDUMP);
  }
  if (RT_SYS3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  rt_refuse("flow recording needs the system call membarrier (Linux 4.14)");
}

/* ---- other threads */
void rt_fl_barrier(void) {
  ++heddle_flow_self->barriers;
  while (RT_SYS3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) RT_SYS0(SYS_sched_yield);
}

/* Behind a barrier: the last event that the thread has done, of those that can have accessed what we have
 * locked. A thread in a loop may go on for long before its status says more: it is made to take a hook. */
#define SOON 16
uint64_t rt_fl_last_done(struct heddle_flow_thread* other) {
  const uint64_t status = LOAD(&other->status), hooks = LOAD(&other->hooks), state = status & 3;
  if (state == HEDDLE_FLOW_direct || state == HEDDLE_FLOW_unmixed)
    for (uint32_t tries = 1; LOAD(&other->status) == status && LOAD(&other->hooks) == hooks; ++tries) {
      relax(tries);
      if (tries % SOON == 0) STORE(&other->tag, ~0ull);
    }
  return rt_fl_done_of(LOAD(&other->status));
}

void rt_fl_after_event(uint32_t slot, uint64_t number) {
  struct rt_fl_local* const local = rt_fl_local;
  if (slot == local->slot ? rt_fl.sequences : (rt_fl.locks && local->seen[slot] >= number)) return;
  if (number == 0) return;
  rt_fl_note_edge(slot, number);
  if (local->seen[slot] < number) local->seen[slot] = number;
}

static void after_all_threads(void) {
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 0; slot < count; ++slot) {
    struct heddle_flow_thread* const head = LOAD(&rt_fl.threads[slot].head);
    if (slot != rt_fl_local->slot && head != NULL) rt_fl_after_event(slot, rt_fl_last_done(head));
  }
}

/* ---- locking */
/* What the word was. */
uint64_t rt_fl_lock_word(uint64_t* word) {
  for (uint32_t tries = 0;; ++tries) {
    const uint64_t before = LOAD(word);
    if (kind_of(before) == HEDDLE_FLOW_locked) {
      if (slot_of(before) == rt_fl_local->slot) return before; /* two ranges that overlap */
    } else if (lock_as(word, before, my_word(HEDDLE_FLOW_locked, 0, 0))) {
      return before;
    }
    relax(tries);
  }
}

/* ---- Stride, a baseline (abi/flow.h): the word says which write was the last */
static uint64_t next_version(const uint64_t* word, uint64_t before) {
  rt_fl_note_version(HEDDLE_FLOW_version, granule_of(word), slot_of(before), number_of(before));
  return my_word(HEDDLE_FLOW_contended, rt_fl_number(), 0);
}

/* Taking over costs a barrier, however many granules it is for: few at a time are sooner contended. */
static uint64_t changed_hands(uint64_t word, bool few) {
  const uint64_t hands = hands_of(word) + (few ? OFTEN / 2 : 1);
  ++heddle_flow_self->handed_over;
  return hands < OFTEN ? hands : OFTEN;
}

static uint64_t my_new_word(uint64_t hands) {
  if (in_section()) return my_word(HEDDLE_FLOW_guarded, rt_fl_local->section, hands);
  return hands < OFTEN ? my_word(HEDDLE_FLOW_owned, 0, hands)
                       : my_word(HEDDLE_FLOW_contended, rt_fl_number(), OFTEN);
}

static uint64_t after_owner(uint64_t before, bool writes, bool few) {
  const uint32_t owner = slot_of(before);
  const uint64_t last = rt_fl_last_done(rt_fl.threads[owner].head), more = changed_hands(before, few);
  rt_fl_after_event(owner, last);
  if (more >= OFTEN && has_slice() && !rt_fl_is_awake(owner)) return my_word(HEDDLE_FLOW_owned, 0, OFTEN - 1);
  if (writes || more >= OFTEN) return my_new_word(more);
  return HEDDLE_FLOW_WORD(HEDDLE_FLOW_read, owner, last, more);
}

/* What is accessed without the lock that seemed to guard it is contended from then on, under locks too. Under a
 * lock even what is only read becomes guarded: to write what all may read needs a barrier. */
static uint64_t after_section(uint64_t before, bool writes, bool few) {
  const uint32_t owner = slot_of(before);
  if (owner == rt_fl_local->slot) return my_new_word(hands_of(before));
  const uint64_t more = changed_hands(before, false);
  const bool inside = is_guarded_by(before, rt_fl.threads[owner].head);
  const uint64_t last =
      inside ? rt_fl_last_done(rt_fl.threads[owner].head) : LOAD(&rt_fl.threads[owner].released);
  rt_fl_after_event(owner, last);
  if (!writes && more < OFTEN && (inside || (!few && !in_section())))
    return HEDDLE_FLOW_WORD(HEDDLE_FLOW_read, owner, last, more);
  if (inside) return my_word(HEDDLE_FLOW_contended, rt_fl_number(), UNGUARDED + OFTEN);
  const uint64_t held = heddle_flow_self->held;
  return more >= SEVERAL && in_section() && held != ~0ull ? held | more << HEDDLE_FLOW_HANDS_AT
                                                          : my_new_word(more);
}

/* By a thread that does not have the lock, or by an event of the lock itself. The event that released it last
 * comes after all that was done under it before, since those who take the lock have edges from those who
 * release it. */
static uint64_t after_lock(uint64_t before, bool writes, bool few) {
  const struct rt_fl_lock* const lock = rt_fl_lock_of(before);
  const uint64_t more = changed_hands(before, false);
  if (LOAD(&lock->broken)) {
    after_all_threads();
    return my_new_word(more);
  }
  const uint32_t holder = rt_fl_holder_of(before);
  const uint64_t last = LOAD(&lock->last);
  const bool inside = holder != rt_fl_local->slot;
  if (inside) rt_fl_after_event(holder, rt_fl_last_done(rt_fl.threads[holder].head));
  rt_fl_after_event(slot_of(last), number_of(last));
  if (inside) return my_word(HEDDLE_FLOW_contended, rt_fl_number(), UNGUARDED + OFTEN);
  if (!writes && more < OFTEN && !few && !in_section())
    return HEDDLE_FLOW_WORD(HEDDLE_FLOW_read, slot_of(last), number_of(last), more);
  return my_new_word(more);
}

static uint64_t after_contended(uint64_t before) {
  const uint64_t hands = hands_of(before), unguarded = hands & UNGUARDED;
  const uint32_t slot = slot_of(before);
  rt_fl_after_event(slot, number_of(before));
  if (in_section() && unguarded == 0) return my_new_word(OFTEN);
  const bool mine = slot == rt_fl_local->slot;
  if (!rt_fl.sequences || (!mine && (!has_slice() || rt_fl_is_awake(slot))))
    return my_word(HEDDLE_FLOW_contended, rt_fl_number(), unguarded + OFTEN);
  if (mine && (hands & ~UNGUARDED) < OFTEN + SETTLED)
    return my_word(HEDDLE_FLOW_contended, rt_fl_number(), hands + 1);
  return my_word(HEDDLE_FLOW_owned, 0, OFTEN - 1);
}

uint64_t rt_fl_take(const uint64_t* word, uint64_t before, bool writes, bool few) {
  if (rt_fl.baseline == HEDDLE_FLOW_stride) return next_version(word, before);
  switch (kind_of(before)) {
    case HEDDLE_FLOW_untouched:
      return rt_fl.sequences ? my_new_word(0) : my_word(HEDDLE_FLOW_contended, rt_fl_number(), 0);
    case HEDDLE_FLOW_owned:
      return slot_of(before) == rt_fl_local->slot ? before : after_owner(before, writes, few);
    case HEDDLE_FLOW_read:
      if (!writes) {
        if (!is_known(before)) rt_fl_after_event(slot_of(before), number_of(before));
        return before;
      }
      after_all_threads();
      return my_new_word(changed_hands(before, few));
    case HEDDLE_FLOW_guarded:
      return after_section(before, writes, few);
    case HEDDLE_FLOW_held:
      return after_lock(before, writes, few);
    default:
      return after_contended(before);
  }
}

bool rt_fl_is_taken_over(uint64_t before, bool writes) {
  const uint32_t slot = slot_of(before);
  switch (kind_of(before)) {
    case HEDDLE_FLOW_owned:
      return slot != rt_fl_local->slot;
    case HEDDLE_FLOW_guarded:
      return slot != rt_fl_local->slot && is_guarded_by(before, rt_fl.threads[slot].head);
    case HEDDLE_FLOW_held:
      return LOAD(&rt_fl_lock_of(before)->broken) || rt_fl_holder_of(before) != rt_fl_local->slot;
    default:
      return kind_of(before) == HEDDLE_FLOW_read && writes;
  }
}

/* ---- threads that rest, in a call that waits: a fence before and one behind tell as much as a barrier, which
 * is dear. Who has locked a word and then finds its owner resting knows that the owner will see the lock. */
void rt_fl_rest(bool rests) {
  __atomic_exchange_n(&rt_fl.threads[rt_fl_local->slot].rests, rests,
                      __ATOMIC_SEQ_CST); /* a fence, and cheaper */
}

bool rt_fl_is_awake(uint32_t slot) {
  return slot != rt_fl_local->slot && LOAD(&rt_fl.threads[slot].head) != NULL &&
         !LOAD(&rt_fl.threads[slot].rests);
}

/* The word has been locked. */
bool rt_fl_needs_barrier(uint64_t before, bool writes) {
  if (!rt_fl_is_taken_over(before, writes)) return false;
  if (kind_of(before) == HEDDLE_FLOW_held && !LOAD(&rt_fl_lock_of(before)->broken))
    return rt_fl_is_awake(rt_fl_holder_of(before));
  if (kind_of(before) == HEDDLE_FLOW_owned || kind_of(before) == HEDDLE_FLOW_guarded)
    return rt_fl_is_awake(slot_of(before));
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (rt_fl_is_awake(slot)) return true;
  return false;
}
