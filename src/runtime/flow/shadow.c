/* Events: which accesses of different threads conflict, and in which order they happened.
 *
 * The word of a granule says who may access it without further ado (abi/flow.h). Three ways:
 *
 * - Owned: its owner accesses it after one comparison, in instrumented code. Who wants it otherwise locks the
 * word, and then makes sure that the owner does not access it any more: membarrier() lets every thread of the
 * process pass a fence, so either the owner sees the lock, or its status says that an access is under way, and
 * that one is waited for. Threads in system calls have no access under way: nothing waits for them.
 * - Read: everybody reads. Who writes makes sure in the same way that nobody reads any more.
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
#include <wchar.h>

#include "abi/control.h"
#include "abi/hooks.h"
#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

#define OFTEN 6     /* so many changes of hands make a granule contended */
#define SETTLED 200 /* so many accesses of one thread in a row make it owned again */
#define LONGEST_RUN (1u << 13)
#define NEAR 16
#define FEW 16

static const uint64_t nothing_seen[HEDDLE_FLOW_SLOTS];
struct heddle_flow_thread rt_fl_nobody = {.tag = ~0ull, .seen = nothing_seen};
RT_TLS struct heddle_flow_thread* heddle_flow_self = &rt_fl_nobody;
RT_TLS struct rt_fl_local* rt_fl_local;
RT_TLS void* rt_fl_stack;
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
  for (size_t i = 0; i < sizeof shadows / sizeof shadows[0]; ++i) {
    const long at = RT_SYS6(SYS_mmap, shadows[i].from, shadows[i].size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != (long)shadows[i].from) rt_no_memory();
    RT_SYS3(SYS_madvise, at, shadows[i].size, MADV_DONTDUMP);
  }
  if (RT_SYS3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  static const char text[] = "heddle: flow recording needs the system call membarrier (Linux 4.14)\n";
  RT_SYS3(SYS_write, 2, text, sizeof text - 1);
  for (;;) RT_SYS1(SYS_exit_group, 70);
}

/* ---- words */
static inline uint64_t* word_of(uint64_t address) {
  return (uint64_t*)((address & ~7ull) ^ HEDDLE_FLOW_SHADOW);
}
static inline uint64_t kind_of(uint64_t word) {
  return word & ((1u << HEDDLE_FLOW_SLOT_AT) - 1);
}
static inline uint32_t slot_of(uint64_t word) {
  return word >> HEDDLE_FLOW_SLOT_AT & (HEDDLE_FLOW_SLOTS - 1);
}
static inline uint64_t number_of(uint64_t word) {
  return word >> HEDDLE_FLOW_NUMBER_AT & ((1ull << HEDDLE_FLOW_NUMBER_BITS) - 1);
}
static inline uint64_t hands_of(uint64_t word) {
  return word >> HEDDLE_FLOW_HANDS_AT;
}
static inline uint64_t with_hands_of(uint64_t word, uint64_t other) {
  const uint64_t hands = 0xffull << HEDDLE_FLOW_HANDS_AT;
  return (word & ~hands) | (other & hands);
}
static inline bool has_shadow(uint64_t address) {
  const uint64_t top = address >> 40;
  return top < 1 || top - 0x10 < 0x10 || top == 0x55 || top == 0x7f;
}
static inline bool exchange(uint64_t* word, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline void set_state(enum heddle_flow_state state) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  STORE(&self->status, (self->status & ~3ull) | state);
}

static inline void relax(uint32_t tries) {
  if (tries % 64 == 63)
    RT_SYS0(SYS_sched_yield);
  else
    __builtin_ia32_pause();
}

/* ---- memory */
static uint64_t load(const void* at, uint32_t size) {
  switch (size) {
    case 1:
      return *(const volatile uint8_t*)at;
    case 2:
      return *(const volatile uint16_t*)at;
    case 4:
      return *(const volatile uint32_t*)at;
    default:
      return *(const volatile uint64_t*)at;
  }
}

static void store(void* at, uint32_t size, uint64_t value) {
  switch (size) {
    case 1:
      *(volatile uint8_t*)at = (uint8_t)value;
      break;
    case 2:
      *(volatile uint16_t*)at = (uint16_t)value;
      break;
    case 4:
      *(volatile uint32_t*)at = (uint32_t)value;
      break;
    default:
      *(volatile uint64_t*)at = value;
  }
}

/* ---- other threads */
static void barrier(void) {
  ++heddle_flow_self->barriers;
  while (RT_SYS3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) RT_SYS0(SYS_sched_yield);
}

/* Behind a barrier: the last event that the thread has done, of those that can have accessed what we have
 * locked. */
static uint64_t last_done(const struct heddle_flow_thread* other) {
  uint64_t status = LOAD(&other->status);
  const uint64_t first = status;
  for (uint32_t tries = 0; (status & 3) == HEDDLE_FLOW_direct && status == first; ++tries) {
    relax(tries);
    status = LOAD(&other->status);
  }
  return rt_fl_done_of(status);
}

static void after_event(uint32_t slot, uint64_t number) {
  struct rt_fl_local* const local = rt_fl_local;
  if (slot == local->slot ? rt_fl.sequences : (rt_fl.locks && local->seen[slot] >= number)) return;
  if (number == 0) return;
  rt_fl_note_edge(slot, number);
  if (local->seen[slot] < number) local->seen[slot] = number;
}

static void after_all_threads(void) {
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 0; slot < count; ++slot) {
    const struct heddle_flow_thread* const head = LOAD(&rt_fl.threads[slot].head);
    if (slot != rt_fl_local->slot && head != NULL) after_event(slot, last_done(head));
  }
}

static bool is_known(uint64_t word) { /* of kind read */
  return rt_fl_local->seen[slot_of(word)] >= number_of(word);
}

/* ---- locking */
static inline uint64_t my_word(enum heddle_flow_kind kind, uint64_t number, uint64_t hands) {
  return HEDDLE_FLOW_WORD(kind, rt_fl_local->slot, number, hands);
}

/* What the word was. */
static uint64_t lock_word(uint64_t* word) {
  for (uint32_t tries = 0;; ++tries) {
    const uint64_t before = LOAD(word);
    if (kind_of(before) == HEDDLE_FLOW_locked) {
      if (slot_of(before) == rt_fl_local->slot) return before; /* two ranges that overlap */
    } else if (exchange(word, before, my_word(HEDDLE_FLOW_locked, 0, 0))) {
      return before;
    }
    relax(tries);
  }
}

/* ---- Stride, a baseline (abi/flow.h): the word says which write was the last */
static uint64_t granule_of(const uint64_t* word) {
  return ((uint64_t)(uintptr_t)word ^ HEDDLE_FLOW_SHADOW) / 8;
}

static uint64_t next_version(const uint64_t* word, uint64_t before) {
  rt_fl_note_version(HEDDLE_FLOW_version, granule_of(word), slot_of(before), number_of(before));
  return my_word(HEDDLE_FLOW_contended, rt_fl_number(), 0);
}

/* Without a lock: what was read while nobody wrote. */
static uint64_t load_linked(const void* at, uint32_t size) {
  const uint64_t* const word = word_of((uint64_t)(uintptr_t)at);
  for (uint32_t tries = 0;; ++tries) {
    const uint64_t before = LOAD(word);
    if (kind_of(before) != HEDDLE_FLOW_locked) {
      const uint64_t value = load(at, size);
      if (LOAD(word) == before) {
        set_state(HEDDLE_FLOW_waiting);
        rt_fl_note_version(HEDDLE_FLOW_link, granule_of(word), slot_of(before), number_of(before));
        set_state(HEDDLE_FLOW_unmixed);
        return value;
      }
    }
    relax(tries);
  }
}

/* Taking over costs a barrier, however many granules it is for: few at a time are sooner contended. */
static uint64_t changed_hands(uint64_t word, bool few) {
  const uint64_t hands = hands_of(word) + (few ? OFTEN / 2 : 1);
  ++heddle_flow_self->handed_over;
  return hands < OFTEN ? hands : OFTEN;
}

static uint64_t my_new_word(uint64_t hands) {
  return hands < OFTEN ? my_word(HEDDLE_FLOW_owned, 0, hands)
                       : my_word(HEDDLE_FLOW_contended, rt_fl_number(), OFTEN);
}

/* Edges to this event because of a word that is locked now, and what the word is to be behind the event. */
static uint64_t take(const uint64_t* word, uint64_t before, bool writes, bool few) {
  if (rt_fl.baseline == HEDDLE_FLOW_stride) return next_version(word, before);
  const uint64_t number = rt_fl_number(), hands = hands_of(before);
  switch (kind_of(before)) {
    case HEDDLE_FLOW_untouched:
      return rt_fl.sequences ? my_word(HEDDLE_FLOW_owned, 0, 0) : my_word(HEDDLE_FLOW_contended, number, 0);
    case HEDDLE_FLOW_owned: {
      const uint32_t owner = slot_of(before);
      if (owner == rt_fl_local->slot) return before;
      const uint64_t last = last_done(rt_fl.threads[owner].head), more = changed_hands(before, few);
      after_event(owner, last);
      return writes || more >= OFTEN ? my_new_word(more)
                                     : HEDDLE_FLOW_WORD(HEDDLE_FLOW_read, owner, last, more);
    }
    case HEDDLE_FLOW_read:
      if (!writes) {
        if (!is_known(before)) after_event(slot_of(before), number_of(before));
        return before;
      }
      after_all_threads();
      return my_new_word(changed_hands(before, few));
    default:
      after_event(slot_of(before), number_of(before));
      if (!rt_fl.sequences || slot_of(before) != rt_fl_local->slot)
        return my_word(HEDDLE_FLOW_contended, number, OFTEN);
      if (hands < OFTEN + SETTLED) return my_word(HEDDLE_FLOW_contended, number, hands + 1);
      return my_word(HEDDLE_FLOW_owned, 0, OFTEN - 1);
  }
}

/* Whether others may access what we have locked without looking at the lock. */
static bool is_taken_over(uint64_t before, bool writes) {
  return (kind_of(before) == HEDDLE_FLOW_owned && slot_of(before) != rt_fl_local->slot) ||
         (kind_of(before) == HEDDLE_FLOW_read && writes);
}

/* ---- threads that rest, in a call that waits: a fence before and one behind tell as much as a barrier, which
 * is dear. Who has locked a word and then finds its owner resting knows that the owner will see the lock. */
void rt_fl_rest(bool rests) {
  STORE(&rt_fl.threads[rt_fl_local->slot].rests, rests);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool is_awake(uint32_t slot) {
  return slot != rt_fl_local->slot && LOAD(&rt_fl.threads[slot].head) != NULL &&
         !LOAD(&rt_fl.threads[slot].rests);
}

/* The word has been locked. */
static bool needs_barrier(uint64_t before, bool writes) {
  if (!is_taken_over(before, writes)) return false;
  if (kind_of(before) == HEDDLE_FLOW_owned) return is_awake(slot_of(before));
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (is_awake(slot)) return true;
  return false;
}

/* ---- runs. A thread that goes through an array would take over one granule after the other, each with a
 * barrier, which is dear. So who comes to the granule beside those that it took takes its neighbours too, twice
 * as many each time: those that are in the same hands. Several such runs are under way where arrays are merged.
 */
struct locked_run {
  uint64_t* word; /* of the granule that is accessed */
  int64_t step;
  uint32_t length; /* neighbours that are locked */
};

static struct rt_fl_run* find_run(const uint64_t* word, int64_t* step) {
  struct rt_fl_local* const local = rt_fl_local;
  for (uint32_t i = 0; i < FL_RUNS; ++i) {
    struct rt_fl_run* const run = &local->runs[i];
    const bool up = (uint64_t)(word - run->end) < NEAR, down = (uint64_t)(run->begin - 1 - word) < NEAR;
    if (!up && !down) continue;
    *step = up ? 1 : -1;
    if (run->length < LONGEST_RUN) run->length *= 2;
    return run;
  }
  struct rt_fl_run* const run = &local->runs[local->oldest_run++ % FL_RUNS];
  run->length = 1;
  *step = 1;
  return run;
}

/* Shadows lie in blocks of this size. */
static bool same_block(const uint64_t* a, const uint64_t* b) {
  return ((uintptr_t)a ^ (uintptr_t)b) >> 20 == 0;
}

static struct locked_run lock_run(uint64_t* word, uint64_t before) {
  struct locked_run out = {.word = word};
  struct rt_fl_run* const run = find_run(word, &out.step);
  const bool untouched = kind_of(before) == HEDDLE_FLOW_untouched;
  uint64_t* at = word + out.step;
  for (uint32_t i = 1; i < run->length && same_block(at, word); ++i, at += out.step) {
    const uint64_t now = LOAD(at), hands = hands_of(now);
    if (with_hands_of(now, before) != before || hands + 1 >= OFTEN) break;
    if (!exchange(at, now, my_word(untouched ? HEDDLE_FLOW_owned : HEDDLE_FLOW_locked, 0, hands))) break;
    if (!untouched) ++out.length;
  }
  run->begin = out.step > 0 ? word : at + 1;
  run->end = out.step > 0 ? at : word + 1;
  return out;
}

static void unlock_run(struct locked_run run, uint64_t after) {
  for (uint64_t* at = run.word + run.step; run.length != 0; --run.length, at += run.step)
    STORE(at, with_hands_of(after, *at));
}

/* ---- accesses inside one granule */
/* May the granule be accessed as it is? With the state direct. What all may read needs no more than an edge. */
static inline bool is_mine(uint64_t word, bool writes) {
  if ((uint32_t)word == (uint32_t)heddle_flow_self->tag) return true;
  if (writes || kind_of(word) != HEDDLE_FLOW_read) return false;
  if (!is_known(word)) after_event(slot_of(word), number_of(word));
  return true;
}

/* The address may be bad: the fault is to come before anything is locked. When a handler has mended it and had
 * events of its own, the access is another event than the one that met the fault. */
static void touch(void* at, bool writes) {
  if (writes)
    __asm__ volatile("lock orb $0, %0" : "+m"(*(uint8_t*)at)); /* a builtin that changes nothing is left out */
  else
    (void)*(const volatile uint8_t*)at;
  if ((LOAD(&heddle_flow_self->status) & 3) != HEDDLE_FLOW_done) return;
  STORE(&heddle_flow_self->status, heddle_flow_self->status + 4 + HEDDLE_FLOW_waiting);
  if (rt_fl.mode == FL_REPLAY) rt_fl_turn();
}

static uint64_t access_granule(void* at, uint32_t size, bool writes, uint64_t value) {
  uint64_t* const word = word_of((uint64_t)(uintptr_t)at);
  if (is_mine(LOAD(word), writes)) {
    if (!writes) return load(at, size);
    store(at, size, value);
    return 0;
  }
  if (!writes && rt_fl.baseline == HEDDLE_FLOW_stride) return load_linked(at, size);
  set_state(HEDDLE_FLOW_waiting);
  touch(at, writes);
  const uint64_t before = lock_word(word);
  const bool owned = is_taken_over(before, writes);
  struct locked_run run = {.length = 0};
  if (rt_fl.sequences && (owned || before == 0) && hands_of(before) + 1 < OFTEN) run = lock_run(word, before);
  if (needs_barrier(before, writes)) barrier();
  const uint64_t after = take(word, before, writes, run.length < FEW);
  if (writes)
    store(at, size, value);
  else
    value = load(at, size);
  set_state(HEDDLE_FLOW_unmixed);
  STORE(word, after);
  unlock_run(run, after);
  return value;
}

static void performed(void) { /* in a replay */
  set_state(HEDDLE_FLOW_unmixed);
  rt_fl_turn_done();
}

static uint64_t load_event(const void* at, uint32_t size) {
  if (rt_fl.mode == FL_REPLAY) {
    rt_fl_turn();
    touch((void*)(uintptr_t)at, false);
    const uint64_t value = load(at, size);
    performed();
    return value;
  }
  if (!has_shadow((uint64_t)(uintptr_t)at)) return load(at, size);
  return access_granule((void*)(uintptr_t)at, size, false, 0);
}

static void store_event(void* at, uint32_t size, uint64_t value) {
  if (rt_fl.mode == FL_REPLAY) {
    rt_fl_turn();
    touch(at, true);
    store(at, size, value);
    performed();
  } else if (!has_shadow((uint64_t)(uintptr_t)at)) {
    store(at, size, value);
  } else {
    access_granule(at, size, true, value);
  }
}

/* Signals have come, and the next event has been counted already: then it is counted again behind what their
 * handlers do. */
static void handlers_before_access(void) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  if (!rt_fl_handlers_due(1)) return;
  STORE(&self->status, self->status - 4 - HEDDLE_FLOW_direct);
  rt_fl_handlers_before_event();
  STORE(&self->status, self->status + 4 + HEDDLE_FLOW_direct);
}

/* Instrumented code calls these two on the stack of the runtime. */
RT_FL_KEEPING(heddle_flow_load);
uint64_t rt_do_heddle_flow_load(const void* at, uint64_t what);
uint64_t rt_do_heddle_flow_load(const void* at, uint64_t what) {
  const uint32_t size = what & 0xff;
  if (!rt_fl_active()) return load(at, size);
  void* const stack = rt_fl_stack;
  rt_fl_stack = NULL;
  handlers_before_access();
  const uint64_t value = load_event(at, size);
  rt_fl_name((uint32_t)(what >> 8), HEDDLE_FLOW_name_access);
  rt_fl_stack = stack;
  return value;
}

RT_FL_KEEPING(heddle_flow_store);
uint64_t rt_do_heddle_flow_store(void* at, uint64_t what, uint64_t value);
uint64_t rt_do_heddle_flow_store(void* at, uint64_t what, uint64_t value) {
  const uint32_t size = what & 0xff;
  if (!rt_fl_active()) {
    store(at, size, value);
    return 0;
  }
  void* const stack = rt_fl_stack;
  rt_fl_stack = NULL;
  handlers_before_access();
  store_event(at, size, value);
  rt_fl_name((uint32_t)(what >> 8), HEDDLE_FLOW_name_access);
  rt_fl_stack = stack;
  return 0;
}

/* ---- events on any memory */
static struct rt_fl_range* add_range(const void* at, uint64_t size, bool writes) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint64_t begin = (uint64_t)(uintptr_t)at;
  if (local->range_count == FL_RANGES || size == 0 || !has_shadow(begin)) return NULL;
  struct rt_fl_range* const range = &local->ranges[local->range_count++];
  *range = (struct rt_fl_range){.begin = begin & ~7ull, .end = (begin + size + 7) & ~7ull, .writes = writes};
  return range;
}

static uint64_t extent(const void* at, uint64_t size, uint64_t limit) {
  uint64_t count = 0;
  switch (size) {
    case HEDDLE_SIZE_STRING:
      while (count < limit && ((const char*)at)[count++] != 0) {
      }
      return count;
    case HEDDLE_SIZE_WIDE_STRING:
      while (count < limit && ((const wchar_t*)at)[count++] != 0) {
      }
      return count * sizeof(wchar_t);
    case HEDDLE_SIZE_OBJECT:
      return 1;
    default:
      return size;
  }
}

/* Strings may change before the event begins: then the event is about what was there when it was announced. An
 * object of a library is changed by every call. */
RT_FL_ENTRY(heddle_control_range);
uint64_t rt_do_heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes);
uint64_t rt_do_heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes) {
  if (!rt_fl_active() || rt_fl_local->open || at == NULL || size == 0) return 0;
  if (size < HEDDLE_SIZE_OBJECT && size > 1ull << 40) size = HEDDLE_SIZE_OBJECT;
  const bool object = size == HEDDLE_SIZE_OBJECT;
  add_range(at, extent(at, size, limit), writes != 0 || object);
  return 0;
}

static void sort_ranges(struct rt_fl_local* local) { /* few */
  for (uint32_t i = 1; i < local->range_count; ++i)
    for (uint32_t j = i; j > 0 && local->ranges[j].begin < local->ranges[j - 1].begin; --j) {
      const struct rt_fl_range other = local->ranges[j];
      local->ranges[j] = local->ranges[j - 1];
      local->ranges[j - 1] = other;
    }
}

/* Nearly always all of them are owned: that is looked at first, some at a time. */
static bool range_mine(const struct rt_fl_range* range) {
  const uint64_t* word = word_of(range->begin);
  const uint64_t* const end = word + (range->end - range->begin) / 8;
  const uint64_t mine = heddle_flow_self->tag;
  for (; end - word >= 4; word += 4)
    if ((uint32_t)((LOAD(word) ^ mine) | (LOAD(word + 1) ^ mine) | (LOAD(word + 2) ^ mine) |
                   (LOAD(word + 3) ^ mine)) != 0)
      break;
  for (; word != end; ++word)
    if (!is_mine(LOAD(word), range->writes)) return false;
  return true;
}

static bool all_mine(const struct rt_fl_local* local) {
  for (uint32_t i = 0; i < local->range_count; ++i)
    if (!range_mine(&local->ranges[i])) return false;
  return true;
}

static void make_room(struct rt_fl_local* local) {
  uint64_t words = 0;
  for (uint32_t i = 0; i < local->range_count; ++i)
    words += (local->ranges[i].end - local->ranges[i].begin) / 8;
  if (words <= local->after_room) return;
  const uint64_t room = words < 512 ? 512 : words * 2;
  uint64_t* const after = rt_map_memory(room * 8);
  if (after == NULL) rt_no_memory();
  if (local->after != NULL) RT_SYS2(SYS_munmap, local->after, local->after_room * 8);
  local->after = after;
  local->after_room = room;
}

/* Words are locked in ascending order, so that threads do not wait for each other in a circle. */
static void lock_ranges(struct rt_fl_local* local) {
  make_room(local);
  uint64_t count = 0;
  for (uint32_t i = 0; i < local->range_count; ++i) {
    const struct rt_fl_range* const range = &local->ranges[i];
    for (uint64_t at = range->begin; at < range->end; at += 8) local->after[count++] = lock_word(word_of(at));
  }
  const uint64_t words = count;
  bool needed = false;
  count = 0;
  for (uint32_t i = 0; i < local->range_count; ++i) {
    uint64_t last = 0; /* neighbours are mostly alike */
    for (uint64_t at = local->ranges[i].begin; at < local->ranges[i].end; at += 8, ++count)
      if (!needed && local->after[count] != last)
        needed = needs_barrier(last = local->after[count], local->ranges[i].writes);
  }
  if (needed) barrier();
  count = 0;
  for (uint32_t i = 0; i < local->range_count; ++i) {
    const struct rt_fl_range* const range = &local->ranges[i];
    for (uint64_t at = range->begin; at < range->end; at += 8, ++count)
      if (kind_of(local->after[count]) != HEDDLE_FLOW_locked) {
        const uint64_t before = local->after[count], hands = hands_of(before);
        local->after[count] = take(word_of(at), before, range->writes, words < FEW);
        if (local->recycles && rt_fl.sequences)
          local->after[count] = my_word(HEDDLE_FLOW_owned, 0, hands < OFTEN ? hands : OFTEN - 1);
      }
  }
}

static void unlock_ranges(struct rt_fl_local* local) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < local->range_count; ++i)
    for (uint64_t at = local->ranges[i].begin; at < local->ranges[i].end; at += 8, ++count)
      if (kind_of(local->after[count]) != HEDDLE_FLOW_locked) STORE(word_of(at), local->after[count]);
}

/* A granule that one range writes and another one reads is written: what comes first decides what it will be.
 */
static void join_ranges(struct rt_fl_local* local) {
  for (uint32_t i = 0; i < local->range_count; ++i)
    for (uint32_t j = 0; j < local->range_count; ++j)
      if (local->ranges[j].writes && local->ranges[i].begin < local->ranges[j].end &&
          local->ranges[j].begin < local->ranges[i].end)
        local->ranges[i].writes = true;
}

/* It has been counted: the state is direct. */
static void open_event(struct rt_fl_local* local) {
  local->open = true;
  if (rt_fl.mode == FL_REPLAY) {
    rt_fl_turn();
    return;
  }
  if (rt_fl.sequences && all_mine(local)) return;
  set_state(HEDDLE_FLOW_waiting);
  sort_ranges(local);
  join_ranges(local);
  lock_ranges(local);
}

static void begin_event(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  STORE(&heddle_flow_self->status, heddle_flow_self->status + 4 + HEDDLE_FLOW_direct);
  open_event(rt_fl_local);
}

static void end_event_in(enum heddle_flow_state state) {
  if (!rt_fl_active() || !rt_fl_local->open) return;
  struct rt_fl_local* const local = rt_fl_local;
  const bool locked = (heddle_flow_self->status & 3) == HEDDLE_FLOW_waiting;
  set_state(state);
  if (rt_fl.mode == FL_REPLAY) rt_fl_turn_done();
  if (locked && rt_fl.mode == FL_RECORD) unlock_ranges(local);
  local->range_count = 0;
  local->open = false;
}

static void end_event(void) {
  end_event_in(HEDDLE_FLOW_done);
}

void rt_fl_abandon_event(void) {
  if (rt_fl_local->depth != 0) return;
  if (rt_fl_local->open) {
    end_event();
  } else {
    const bool performed = rt_fl_done_of(heddle_flow_self->status) == rt_fl_number();
    set_state(HEDDLE_FLOW_done);
    if (!performed && rt_fl.mode == FL_REPLAY) rt_fl_turn_done();
  }
  rt_fl_local->range_count = 0;
}

void rt_fl_begin_object(const void* object) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  add_range(object, 1, true);
  begin_event();
}

void rt_fl_end_event(void) {
  end_event();
}

/* As between begin and end, in one: nothing happens inside. */
void rt_fl_object_event(const void* object) {
  const uint64_t at = (uint64_t)(uintptr_t)object;
  if (!rt_fl_active() || rt_fl_local->open) return;
  if (rt_fl.mode == FL_REPLAY || !has_shadow(at)) {
    rt_fl_begin_object(object);
    end_event();
    return;
  }
  struct heddle_flow_thread* const self = heddle_flow_self;
  uint64_t* const word = word_of(at);
  STORE(&self->status, self->status + 4 + HEDDLE_FLOW_direct);
  if (!is_mine(LOAD(word), true)) {
    set_state(HEDDLE_FLOW_waiting);
    const uint64_t before = lock_word(word);
    if (needs_barrier(before, true)) barrier();
    const uint64_t after = take(word, before, true, true);
    set_state(HEDDLE_FLOW_done);
    STORE(word, after);
    return;
  }
  set_state(HEDDLE_FLOW_done);
}

void rt_fl_write_event(void* to, const void* from, uint64_t size) {
  const bool event = rt_fl_active() && !rt_fl_local->open && size != 0;
  if (event) {
    rt_fl_local->range_count = 0;
    add_range(to, size, true);
    begin_event();
  }
  memcpy(to, from, size);
  if (event) end_event();
}

/* A block is freed: its memory begins a new life, and belongs to who will use it next. */
void rt_fl_free_event(void* block, uint64_t size, const void* link) {
  const bool event = rt_fl_active() && !rt_fl_local->open;
  if (event) {
    rt_fl_local->range_count = 0;
    rt_fl_local->recycles = true;
    add_range(block, size, true);
    begin_event();
  }
  memcpy(block, link, sizeof(void*));
  if (event) {
    end_event();
    rt_fl_local->recycles = false;
  }
}

void rt_fl_copy_event(void* to, const void* from, uint64_t size) {
  const bool event = rt_fl_active() && !rt_fl_local->open && size != 0;
  if (event) {
    rt_fl_local->range_count = 0;
    add_range(to, size, true);
    add_range(from, size, false);
    begin_event();
  }
  memcpy(to, from, size);
  if (event) end_event();
}

void rt_fl_clear_event(void* at, uint64_t size) {
  const bool event = rt_fl_active() && !rt_fl_local->open && size != 0;
  if (event) {
    rt_fl_local->range_count = 0;
    add_range(at, size, true);
    begin_event();
  }
  memset(at, 0, size);
  if (event) end_event();
}

void rt_fl_event_after(uint32_t slot, uint64_t number) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  begin_event();
  if (rt_fl.mode == FL_RECORD) after_event(slot, number);
  end_event();
}

void rt_fl_empty_event(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  begin_event();
  end_event();
}

RT_FL_ENTRY(heddle_flow_begin);
uint64_t rt_do_heddle_flow_begin(void);
uint64_t rt_do_heddle_flow_begin(void) {
  struct rt_fl_local* const local = rt_fl_local;
  if (rt_fl_active() && !local->open && rt_fl_handlers_due(0)) {
    struct rt_fl_range ranges[FL_RANGES];
    const uint32_t count = local->range_count;
    memcpy(ranges, local->ranges, count * sizeof ranges[0]);
    rt_fl_handlers_before_event();
    memcpy(local->ranges, ranges, count * sizeof ranges[0]);
    local->range_count = count;
  }
  begin_event();
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_access);
  return 0;
}
RT_FL_ENTRY(heddle_flow_end);
uint64_t rt_do_heddle_flow_end(void);
uint64_t rt_do_heddle_flow_end(void) {
  end_event();
  return 0;
}

/* ---- loads and stores that instrumented code has looked at and counted, as small ones are */
RT_FL_KEEPING(heddle_flow_begin_wide);
uint64_t rt_do_heddle_flow_begin_wide(void* at, uint64_t what, const void* from);
uint64_t rt_do_heddle_flow_begin_wide(void* at, uint64_t what, const void* from) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!rt_fl_active()) return 0;
  void* const stack = rt_fl_stack;
  rt_fl_stack = NULL;
  handlers_before_access();
  local->inside = local->open;
  if (!local->open) {
    local->range_count = 0;
    const uint64_t size = what & (HEDDLE_FLOW_WIDE_WRITES - 1);
    add_range(at, size, (what & HEDDLE_FLOW_WIDE_WRITES) != 0);
    if (from != NULL) add_range(from, size, false);
    open_event(local);
    rt_fl_name((uint32_t)(what >> 8), HEDDLE_FLOW_name_access);
  }
  rt_fl_stack = stack;
  return 0;
}

RT_FL_KEEPING(heddle_flow_end_part);
uint64_t rt_do_heddle_flow_end_part(void);
uint64_t rt_do_heddle_flow_end_part(void) {
  if (!rt_fl_active()) return 0;
  if (!rt_fl_local->inside) end_event_in(HEDDLE_FLOW_unmixed);
  rt_fl_local->inside = false;
  return 0;
}
