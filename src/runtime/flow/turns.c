/* Replay: the threads perform their events in the order of the given steps. A thread keeps its turn until it
 * comes to an event that is not in its step any more; so code between events, of libraries too, runs one thread
 * at a time. */
#include <limits.h>
#include <linux/futex.h>
#include <string.h>

#include "runtime/flow/flow.h"

static const struct heddle_flow_schedule* schedule;
static const struct heddle_flow_given_thread* threads;
static const struct heddle_flow_step* steps;
static _Atomic uint64_t step; /* the present one */
static uint32_t all_done;     /* a futex */

void rt_fl_turns_init(void) {
  uint64_t size = 0;
  schedule = rt_fl_map_file("steps", &size);
  if (schedule == NULL || size < sizeof *schedule || schedule->magic != HEDDLE_FLOW_STEPS_MAGIC) rt_no_memory();
  threads = (const struct heddle_flow_given_thread*)(schedule + 1);
  steps = (const struct heddle_flow_step*)(threads + schedule->threads);
}

bool rt_fl_given_thread(const char* name, uint32_t* slot, bool* fails, uint64_t* events) {
  for (uint64_t i = 0; i < schedule->threads; ++i) {
    if (strcmp(threads[i].name, name) != 0) continue;
    *slot = threads[i].slot;
    *fails = threads[i].fails != 0;
    *events = threads[i].events;
    return true;
  }
  return false;
}

static void wake(uint32_t* word) {
  __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
  RT_SYS6(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void all_steps_done(void) {
  if (schedule->stops)
    for (;;) RT_SYS1(SYS_exit_group, HEDDLE_FLOW_EXIT_STOPPED);
  wake(&all_done);
}

static void pass(void) {
  const uint64_t next = ++step;
  if (next >= schedule->steps)
    all_steps_done();
  else
    wake(&rt_fl.threads[steps[next].slot].go);
}

static void give_turn(struct rt_fl_local* local) {
  if (!local->has_turn) return;
  local->has_turn = false;
  rt_fl_write_name();
  pass();
}

static void sleep_at(uint32_t* word, uint32_t value) {
  RT_SYS6(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static bool is_over(void) {
  return step >= schedule->steps;
}

static void wait_for_turn(struct rt_fl_local* local) {
  uint32_t* const go = &rt_fl.threads[local->slot].go;
  for (uint32_t tries = 0;; ++tries) {
    const uint32_t value = LOAD(go);
    const uint64_t now = step;
    if (now < schedule->steps && steps[now].slot == local->slot) {
      local->remaining = steps[now].count;
      local->has_turn = true;
      return;
    }
    if (tries < 200)
      __builtin_ia32_pause();
    else
      sleep_at(go, value);
  }
}

static _Noreturn void stop_here(struct rt_fl_local* local) {
  give_turn(local);
  for (;;) RT_SYS4(SYS_ppoll, NULL, 0, NULL, NULL);
}

void rt_fl_wait_for_all(void) {
  give_turn(rt_fl_local);
  while (!is_over()) {
    const uint32_t value = LOAD(&all_done);
    if (!is_over()) sleep_at(&all_done, value);
  }
}

void rt_fl_turn(void) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local->turned == rt_fl_number()) return; /* a fault came before the access */
  local->turned = rt_fl_number();
  if (rt_fl_in_faulting_stretch()) { /* one event with what came before, unless a handler mends it */
    ++local->owed;
    return;
  }
  local->remaining -= local->owed;
  local->owed = 0;
  if (local->remaining == 0) {
    if (rt_fl_number() > local->last_event) {
      if (local->fails && is_over()) return; /* what it was at when it failed */
      stop_here(local);
    }
    give_turn(local);
    wait_for_turn(local);
  }
  --local->remaining;
}

void rt_fl_turn_done(void) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local->fails && rt_fl_number() == local->last_event && !rt_fl_fault_follows()) rt_fl_wait_for_all();
}

void rt_fl_thread_over(void) {
  give_turn(rt_fl_local);
}

/* Several threads may have failed in the recorded run before it ended: of these the one that was the first
 * counts here too, whoever comes first now. The others stay where they are. */
void rt_hold_failure(int number) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local == NULL || rt_fl.mode != FL_REPLAY) return;
  if (rt_fl_done_of(heddle_flow_self->status) < local->last_event)
    rt_fl_diverged("a signal that did not come in the recorded run", 0, number);
  if (!local->fails) stop_here(local);
  rt_fl_wait_for_all();
}
