/* Accesses inside one granule, which instrumented code leaves to the runtime: all in a replay, and those to
 * granules that the thread does not own. */
#include "runtime/flow/entry.h"
#include "runtime/flow/words.h"

#define LONGEST_RUN (1u << 14)
#define NEAR 16

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

/* ---- Stride, a baseline (abi/flow.h) */
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

/* Words of the same block of the shadow behind or before one. */
static uint32_t words_beside(const uint64_t* word, int64_t step) {
  const uintptr_t at = (uintptr_t)word % FL_SHADOW_BLOCK;
  return (uint32_t)(step > 0 ? (FL_SHADOW_BLOCK - at) / 8 - 1 : at / 8);
}

static struct locked_run lock_run(uint64_t* word, uint64_t before) {
  struct locked_run out = {.word = word};
  struct rt_fl_run* const run = find_run(word, &out.step);
  const bool at_once = kind_of(before) == HEDDLE_FLOW_untouched && !in_section();
  const uint64_t mine = my_word(at_once ? HEDDLE_FLOW_owned : HEDDLE_FLOW_locked, 0, 0);
  const uint32_t beside = words_beside(word, out.step),
                 count = run->length - 1 < beside ? run->length - 1 : beside;
  if (!at_once) out.length = (uint32_t)rt_fl_lock_alike(word + out.step, out.step, count, before);
  uint64_t* at = word + out.step * (1 + (int64_t)out.length);
  for (uint32_t i = out.length; i < count;) {
    uint64_t* const pair = out.step > 0 ? at : at - 1;
    if (is_even(pair) && i + 1 < count) {
      const uint64_t now[2] = {LOAD(pair), LOAD(pair + 1)};
      if (!is_alike(now[0], before) || !is_alike(now[1], before) ||
          !(at_once ? exchange_two(pair, now[0], now[1], mine, mine)
                    : lock_two_as(pair, now, with_hands_of(mine, now[0]), with_hands_of(mine, now[1]))))
        break;
      i += 2;
      at += 2 * out.step;
      if (!at_once) out.length += 2;
    } else {
      const uint64_t now = LOAD(at);
      if (!is_alike(now, before) ||
          !(at_once ? exchange(at, now, mine) : lock_as(at, now, with_hands_of(mine, now))))
        break;
      ++i;
      at += out.step;
      if (!at_once) ++out.length;
    }
  }
  run->begin = out.step > 0 ? word : at + 1;
  run->end = out.step > 0 ? at : word + 1;
  return out;
}

static void unlock_run(struct locked_run run, uint64_t after) {
  uint64_t* at = run.step > 0 ? run.word + 1 : run.word - run.length;
  uint64_t* const end = at + run.length;
  for (; end - at >= 4; at += 4) {
    rt_fl_words* const four = (rt_fl_words*)at;
    *four = (*four & HANDS) | (after & ~HANDS);
  }
  for (; at != end; ++at) STORE(at, with_hands_of(after, *at));
}

/* ---- accesses */
/* The address may be bad: the fault is to come before anything is locked. When a handler has mended it and had
 * events of its own, the access is another event than the one that met the fault. */
static void touch(void* at, bool writes) {
  if (writes)
    __asm__ volatile("lock orb $0, %0" : "+m"(*(uint8_t*)at)); /* a builtin that changes nothing is left out */
  else
    (void)*(const volatile uint8_t*)at;
  if ((LOAD(&heddle_flow_self->status) & 3) != HEDDLE_FLOW_done) return;
  STORE(&heddle_flow_self->status, rt_fl_next_status(HEDDLE_FLOW_waiting));
  if (rt_fl.mode == FL_REPLAY) rt_fl_turn();
}

/* Most of what a thread comes to under a lock was guarded in a section that is over, its own or another's: it
 * takes that over in short, and then accesses it as its own; with it the other word of the pair, which costs
 * nothing more. False: it is otherwise, and as it was. */
static bool take_guarded(uint64_t* word) {
  const uint64_t before = LOAD(word), locked = my_word(HEDDLE_FLOW_locked, 0, 0);
  if (kind_of(before) != HEDDLE_FLOW_guarded || !in_section()) return false;
  uint64_t* const other = is_even(word) ? word + 1 : word - 1;
  const uint64_t beside = LOAD(other);
  const uint64_t pair[2] = {is_even(word) ? before : beside, is_even(word) ? beside : before};
  const bool both = is_like(beside, before) && lock_two_as(is_even(word) ? word : other, pair, locked, locked);
  if (!both && !lock_as(word, before, locked)) return false;
  /* Not before they are locked: who goes on with a section says so, and then looks at words. */
  bool over = !rt_fl_is_taken_over(before, true);
  uint64_t after = over ? rt_fl_take(word, before, true, true) : before;
  if (kind_of(after) == HEDDLE_FLOW_contended) { /* the other one has gone on with its section meanwhile */
    over = false;
    after = before;
  }
  if (both) STORE(other, with_hands_of(after, beside));
  STORE(word, after);
  return over;
}

static uint64_t access_granule(void* at, uint32_t size, bool writes, uint64_t value) {
  uint64_t* const word = word_of((uint64_t)(uintptr_t)at);
  if (is_mine(LOAD(word), writes) || take_guarded(word)) {
    if (!writes) return load(at, size);
    store(at, size, value);
    return 0;
  }
  if (!writes && rt_fl.baseline == HEDDLE_FLOW_stride) return load_linked(at, size);
  set_state(HEDDLE_FLOW_waiting);
  touch(at, writes);
  if (rt_fl.sequences) rt_fl_meet(LOAD(word));
  const uint64_t before = rt_fl_lock_word(word);
  const bool owned = rt_fl_is_taken_over(before, writes) || kind_of(before) == HEDDLE_FLOW_guarded;
  struct locked_run run = {.length = 0};
  if (rt_fl.sequences && (owned || before == 0) && hands_of(before) + 1 < OFTEN) run = lock_run(word, before);
  if (rt_fl_needs_barrier(before, writes)) rt_fl_barrier();
  const uint64_t after = rt_fl_take(word, before, writes, run.length < FEW);
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
void rt_fl_handlers_before_access(uint32_t site) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  STORE(&self->hooks, self->hooks + 1);
  rt_fl_give_way();
  rt_fl_disturb(site);
  if (!rt_fl_handlers_due(1)) return;
  STORE(&self->status, self->status - 4 - HEDDLE_FLOW_direct);
  rt_fl_handlers_before_event();
  STORE(&self->status, rt_fl_next_status(HEDDLE_FLOW_direct));
}

/* Instrumented code calls these two on the stack of the runtime. */
RT_FL_KEEPING(heddle_flow_load);
uint64_t rt_do_heddle_flow_load(const void* at, uint64_t what);
uint64_t rt_do_heddle_flow_load(const void* at, uint64_t what) {
  const uint32_t size = what & 0xff;
  if (!rt_fl_active()) return load(at, size);
  void* const stack = rt_fl_stack;
  rt_fl_stack = NULL;
  rt_fl_handlers_before_access((uint32_t)(what >> 8));
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
  rt_fl_handlers_before_access((uint32_t)(what >> 8));
  store_event(at, size, value);
  rt_fl_name((uint32_t)(what >> 8), HEDDLE_FLOW_name_access);
  rt_fl_stack = stack;
  return 0;
}
