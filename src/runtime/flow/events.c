/* Events on any memory: library calls, copies, synchronisation objects. They are about ranges of bytes. */
#include <string.h>
#include <wchar.h>

#include "abi/control.h"
#include "abi/hooks.h"
#include "runtime/flow/entry.h"
#include "runtime/flow/words.h"

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
static void announce(const void* at, uint64_t size, uint64_t limit, bool writes) {
  if (at == NULL || size == 0) return;
  if (size < HEDDLE_SIZE_OBJECT && size > 1ull << 40) size = HEDDLE_SIZE_OBJECT;
  add_range(at, extent(at, size, limit), writes || size == HEDDLE_SIZE_OBJECT);
}

RT_FL_ENTRY(heddle_control_range);
uint64_t rt_do_heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes);
uint64_t rt_do_heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes) {
  if (rt_fl_active() && !rt_fl_local->open) announce(at, size, limit, writes != 0);
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

/* The words of a range are mostly alike, apart from how often they changed hands: one of them is looked at,
 * then the next that is another. */
static inline bool range_mine(const struct rt_fl_range* range) {
  const uint64_t* word = word_of(range->begin);
  const uint64_t* const end = word + (range->end - range->begin) / 8;
  while (word != end) {
    const uint64_t first = LOAD(word);
    if (!is_mine(first, range->writes)) return false;
    word = other_than(word + 1, end, first);
  }
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

static uint64_t take_word(const uint64_t* word, uint64_t before, bool writes, bool few) {
  if (kind_of(before) == HEDDLE_FLOW_locked) return before;
  const uint64_t after = rt_fl_take(word, before, writes, few);
  if (!rt_fl_local->recycles || !rt_fl.sequences) return after;
  uint64_t hands = hands_of(before) < OFTEN ? hands_of(before) : OFTEN - 1;
  if (kind_of(before) == HEDDLE_FLOW_held) hands = 0; /* freed without the lock: it did not guard all of it */
  return in_section() ? my_word(HEDDLE_FLOW_guarded, rt_fl_local->section, hands)
                      : my_word(HEDDLE_FLOW_owned, 0, hands);
}

static bool lock_two(uint64_t* words, uint64_t before[2]) {
  if (!is_even(words)) return false;
  before[0] = LOAD(&words[0]);
  before[1] = LOAD(&words[1]);
  if (kind_of(before[0]) == HEDDLE_FLOW_locked || kind_of(before[1]) == HEDDLE_FLOW_locked) return false;
  const uint64_t mine = my_word(HEDDLE_FLOW_locked, 0, 0);
  return lock_two_as(words, before, mine, mine);
}

static uint64_t words_in(const struct rt_fl_range* range) {
  return (range->end - range->begin) / 8;
}

/* How many of the words are the same, from the first on: mostly all. */
static uint64_t same(const uint64_t* words, uint64_t count) {
  uint64_t i = 1;
  for (; count - i >= 4; i += 4)
    if (__builtin_reduce_or(*(const rt_fl_words*)&words[i] ^ words[0]) != 0) break;
  while (i < count && words[i] == words[0]) ++i;
  return i;
}

static void fill(uint64_t* words, uint64_t count, uint64_t value) {
  for (; count >= 4; words += 4, count -= 4) *(rt_fl_words*)words = (rt_fl_words){value, value, value, value};
  for (; count != 0; --count) STORE(words++, value);
}

static void lock_range(uint64_t* word, uint64_t count, uint64_t* before) {
  uint64_t done = rt_fl_lock_many(word, count, before);
  while (done < count) {
    if (count - done >= 2 && lock_two(&word[done], &before[done])) {
      done += 2;
    } else {
      before[done] = rt_fl_lock_word(&word[done]);
      ++done;
    }
  }
}

/* Words are locked in ascending order, so that threads do not wait for each other in a circle. */
static void lock_ranges(struct rt_fl_local* local, const struct rt_fl_range* begin,
                        const struct rt_fl_range* end) {
  make_room(local);
  uint64_t* words = local->after;
  for (const struct rt_fl_range* range = begin; range != end; words += words_in(range++))
    lock_range(word_of(range->begin), words_in(range), words);
  const bool few = words - local->after < FEW;
  bool needed = false;
  words = local->after;
  for (const struct rt_fl_range* range = begin; range != end && !needed; words += words_in(range++))
    for (uint64_t at = 0; at < words_in(range) && !needed; at += same(&words[at], words_in(range) - at))
      needed = rt_fl_needs_barrier(words[at], range->writes);
  if (needed) rt_fl_barrier();
  words = local->after;
  for (const struct rt_fl_range* range = begin; range != end; words += words_in(range++))
    for (uint64_t at = 0, alike; at < words_in(range); at += alike) {
      alike = rt_fl.sequences ? same(&words[at], words_in(range) - at) : 1;
      fill(&words[at], alike, take_word(word_of(range->begin) + at, words[at], range->writes, few));
    }
}

static void unlock_ranges(const struct rt_fl_local* local, const struct rt_fl_range* begin,
                          const struct rt_fl_range* end) {
  const uint64_t* words = local->after;
  for (const struct rt_fl_range* range = begin; range != end; words += words_in(range++))
    for (uint64_t at = 0, alike; at < words_in(range); at += alike) {
      alike = same(&words[at], words_in(range) - at);
      if (kind_of(words[at]) != HEDDLE_FLOW_locked) fill(word_of(range->begin) + at, alike, words[at]);
    }
}

/* While there is no other thread all that was ever touched is ours. */
static void own_ranges(const struct rt_fl_local* local) {
  const uint64_t mine = my_word(HEDDLE_FLOW_owned, 0, 0);
  for (uint32_t i = 0; i < local->range_count; ++i)
    for (uint64_t at = local->ranges[i].begin; at < local->ranges[i].end; at += 8)
      if (!is_mine(LOAD(word_of(at)), true)) STORE(word_of(at), mine);
}

/* What the thread took over in other sections is nobody else's: so are all words, perhaps, behind this. */
static bool settle_ranges(const struct rt_fl_local* local) {
  for (uint32_t i = 0; i < local->range_count; ++i)
    if (!rt_fl_settle(local->ranges[i].begin, local->ranges[i].end)) return false;
  return all_mine(local);
}

/* Without waiting for other threads. How many. */
static uint64_t try_to_lock_range(uint64_t* word, uint64_t count, uint64_t* before) {
  uint64_t done = rt_fl_lock_many(word, count, before);
  while (done < count) {
    if (count - done >= 2 && lock_two(&word[done], &before[done])) {
      done += 2;
      continue;
    }
    before[done] = LOAD(&word[done]);
    if (kind_of(before[done]) == HEDDLE_FLOW_locked ||
        !lock_as(&word[done], before[done], my_word(HEDDLE_FLOW_locked, 0, 0)))
      break;
    ++done;
  }
  return done;
}

/* The words have been locked: whether nobody else may be accessing what they say. */
static bool all_free(const uint64_t* words, uint64_t count, bool writes) {
  for (uint64_t at = 0; at < count; at += same(&words[at], count - at))
    if (kind_of(words[at]) == HEDDLE_FLOW_contended || rt_fl_is_taken_over(words[at], writes)) return false;
  return true;
}

/* Under a lock what is taken over is the thread's own from then on. Where all but one range is so already,
 * mostly one side of a copy, that one is taken over and unlocked before it is accessed. The state is direct all
 * the time, and the thread waits for nobody: who comes to these words next waits until the event is over, and
 * is ordered behind what this event is ordered behind. */
static bool take_over_range(struct rt_fl_local* local) {
  if (!in_section() || local->range_count < 2 || local->recycles) return false;
  const struct rt_fl_range* other = NULL;
  for (uint32_t i = 0; i < local->range_count; ++i) {
    const struct rt_fl_range* const range = &local->ranges[i];
    if (range_mine(range) || (rt_fl_settle(range->begin, range->end) && range_mine(range))) continue;
    if (other != NULL) return false;
    other = range;
  }
  if (other == NULL) return true;
  make_room(local);
  uint64_t *const word = word_of(other->begin), *const words = local->after;
  const uint64_t count = words_in(other), locked = try_to_lock_range(word, count, words);
  const bool taken = locked == count && all_free(words, count, other->writes);
  for (uint64_t at = 0, alike; at < locked; at += alike) {
    alike = same(&words[at], locked - at);
    uint64_t now = words[at];
    if (taken) now = take_word(word + at, now, other->writes, count < FEW);
    /* Somebody has just gone on with a section, but not accessed it. */
    if (kind_of(now) == HEDDLE_FLOW_contended && taken)
      now = my_word(HEDDLE_FLOW_guarded, local->section, OFTEN);
    fill(word + at, alike, now);
  }
  return taken;
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
  if (rt_fl.sequences && is_alone()) {
    own_ranges(local);
    return;
  }
  if (rt_fl.sequences && (settle_ranges(local) || take_over_range(local))) return;
  set_state(HEDDLE_FLOW_waiting);
  sort_ranges(local);
  join_ranges(local);
  lock_ranges(local, local->ranges, local->ranges + local->range_count);
  local->locked = true;
}

static void begin_event(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  STORE(&heddle_flow_self->status, rt_fl_next_status(HEDDLE_FLOW_direct));
  open_event(rt_fl_local);
}

static void end_event_in(enum heddle_flow_state state) {
  if (!rt_fl_active() || !rt_fl_local->open) return;
  struct rt_fl_local* const local = rt_fl_local;
  set_state(state);
  if (rt_fl.mode == FL_REPLAY) rt_fl_turn_done();
  /* Not as the state says: a library may have called code of the program inside the event, which changes it. */
  if (local->locked) unlock_ranges(local, local->ranges, local->ranges + local->range_count);
  local->range_count = 0;
  local->open = local->locked = false;
  local->may_wait = false;
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

void rt_fl_begin_write(const void* to, uint64_t size) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  add_range(to, size, true);
  begin_event();
}

void rt_fl_end_event(void) {
  end_event();
}

/* As between begin and end, in one: nothing happens inside. The word of a lock is never held: its events are
 * what orders those who hold it. */
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
  STORE(&self->status, rt_fl_next_status(HEDDLE_FLOW_direct));
  if (!is_owned(LOAD(word))) {
    set_state(HEDDLE_FLOW_waiting);
    const uint64_t before = rt_fl_lock_word(word);
    if (rt_fl_needs_barrier(before, true)) rt_fl_barrier();
    const uint64_t after = rt_fl_take(word, before, true, true);
    set_state(HEDDLE_FLOW_done);
    STORE(word, kind_of(after) != HEDDLE_FLOW_held
                    ? after
                    : my_word(HEDDLE_FLOW_guarded, rt_fl_local->section, hands_of(after)));
    return;
  }
  set_state(HEDDLE_FLOW_done);
}

/* The kernel is asked in the middle of an event: the event ends before, and another one about the same begins
 * behind. So nobody waits for a thread that waits itself, and handlers of signals run. */
void rt_fl_suspend_event(struct rt_fl_suspended* event) {
  struct rt_fl_local* const local = rt_fl_local;
  event->count = 0;
  if (!rt_fl_active() || !local->open || !local->may_wait) return;
  event->count = local->range_count;
  memcpy(event->ranges, local->ranges, sizeof event->ranges[0] * event->count);
  end_event();
}

void rt_fl_resume_event(const struct rt_fl_suspended* event) {
  struct rt_fl_local* const local = rt_fl_local;
  if (event->count == 0) return;
  local->range_count = event->count;
  memcpy(local->ranges, event->ranges, sizeof event->ranges[0] * event->count);
  begin_event();
  local->may_wait = true;
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

/* A block is freed: its memory begins a new life, and belongs to who will use it next. Where it is the thread's
 * already, as most are, only what is accessed now has to be accessible. */
static bool begin_own_block(uint64_t begin, uint64_t accessed, uint64_t size) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  if (rt_fl.mode != FL_RECORD || !rt_fl.sequences) return false;
  const uint64_t status = self->status;
  const uint64_t *const words = word_of(begin), *const end = words + size / 8;
  STORE(&self->status, rt_fl_next_status(HEDDLE_FLOW_direct));
  const uint64_t first = LOAD(words);
  if ((is_like(first, rt_fl_local->tag) || is_guarded_by(first, self)) &&
      other_than(words + 1, end, first) == end)
    return true;
  const bool all = kind_of(first) == HEDDLE_FLOW_held; /* without the lock they would not be its own */
  if (rt_fl_is_own(begin, begin + size) && rt_fl_settle(begin, begin + (all ? size : accessed)) &&
      is_mine(LOAD(words), true))
    return true;
  STORE(&self->status, status);
  return false;
}

bool rt_fl_begin_block(const void* begin, uint64_t accessed, uint64_t size) {
  if (!rt_fl_active() || rt_fl_local->open) return false;
  if (begin_own_block((uint64_t)(uintptr_t)begin, accessed, size)) return true;
  rt_fl_local->range_count = 0;
  rt_fl_local->recycles = true;
  add_range(begin, size, true);
  begin_event();
  return true;
}

void rt_fl_end_block(bool begun) {
  if (!begun) return;
  if (rt_fl_local->open)
    end_event();
  else
    set_state(HEDDLE_FLOW_done);
  rt_fl_local->recycles = false;
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

void rt_fl_event_after(struct rt_fl_point one, struct rt_fl_point other) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  begin_event();
  if (rt_fl.mode == FL_RECORD) {
    rt_fl_after_event(one.slot, one.number);
    rt_fl_after_event(other.slot, other.number);
  }
  end_event();
}

void rt_fl_empty_event(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  rt_fl_local->range_count = 0;
  begin_event();
  end_event();
}

static void handlers_before_ranges(struct rt_fl_local* local) {
  struct rt_fl_range ranges[FL_RANGES];
  const uint32_t count = local->range_count;
  memcpy(ranges, local->ranges, count * sizeof ranges[0]);
  rt_fl_handlers_before_event();
  memcpy(local->ranges, ranges, count * sizeof ranges[0]);
  local->range_count = count;
}

RT_FL_ENTRY(heddle_flow_begin);
uint64_t rt_do_heddle_flow_begin(void);
uint64_t rt_do_heddle_flow_begin(void) {
  if (rt_fl_active() && !rt_fl_local->open && rt_fl_handlers_due(0)) handlers_before_ranges(rt_fl_local);
  begin_event();
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_access);
  return 0;
}

static inline bool bytes_mine(const void* at, uint64_t size, bool writes) {
  const uint64_t begin = (uint64_t)(uintptr_t)at;
  if (begin == 0 || size == 0 || !has_shadow(begin)) return true;
  const struct rt_fl_range range = {begin & ~7ull, (begin + size + 7) & ~7ull, writes};
  return range_mine(&range);
}

/* The short way, which most go: the event has begun if all is ours. */
static bool begin_own(const void* a, uint64_t a_size, const void* b, uint64_t b_size, uint64_t what) {
  const struct rt_fl_local* const local = rt_fl_local;
  if (rt_fl.mode != FL_RECORD || !rt_fl.sequences || local->held_signals != 0 || local->range_count != 0 ||
      (a_size | b_size) > 1ull << 40)
    return false;
  struct heddle_flow_thread* const self = heddle_flow_self;
  const uint64_t status = self->status;
  STORE(&self->status, rt_fl_next_status(HEDDLE_FLOW_direct));
  if (bytes_mine(a, a_size, (what & 1) != 0) && bytes_mine(b, b_size, (what & 2) != 0)) return true;
  STORE(&self->status, status);
  return false;
}

bool rt_fl_begin_own_write(const void* to, uint64_t size) {
  return rt_fl_active() && !rt_fl_local->open && begin_own(to, size, NULL, 0, 1);
}

void rt_fl_end_own_write(bool performed) {
  const uint64_t number = rt_fl_number() - !performed;
  STORE(&heddle_flow_self->status, number << HEDDLE_FLOW_STATE_BITS);
}

/* What is longer, or not the thread's (short_ranges.c). */
RT_FL_ENTRY(rt_fl_begin_ranges);
uint64_t rt_do_rt_fl_begin_ranges(const void* a, uint64_t a_size, const void* b, uint64_t b_size,
                                  uint64_t what);
uint64_t rt_do_rt_fl_begin_ranges(const void* a, uint64_t a_size, const void* b, uint64_t b_size,
                                  uint64_t what) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!rt_fl_active() || local->open) return 0;
  if ((what & HEDDLE_FLOW_PLAIN) != 0 && begin_own(a, a_size, b, b_size, what)) return 0;
  announce(a, a_size, UINT64_MAX, (what & 1) != 0);
  announce(b, b_size, UINT64_MAX, (what & 2) != 0);
  if (rt_fl_handlers_due(0)) handlers_before_ranges(local);
  local->may_wait = (what & HEDDLE_FLOW_WAITS) != 0;
  begin_event();
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_access);
  if ((what & HEDDLE_FLOW_PLAIN) == 0) return 0;
  if (rt_fl.mode == FL_REPLAY) {
    set_state(HEDDLE_FLOW_waiting); /* it takes its end by the hook */
  } else if ((heddle_flow_self->status & 3) == HEDDLE_FLOW_direct) {
    local->range_count = 0;
    local->open = false;
  }
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
  rt_fl_handlers_before_access((uint32_t)(what >> 8));
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
