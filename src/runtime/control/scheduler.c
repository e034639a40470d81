/* Decision points: which thread performs the next event, when buffered stores become visible, when waits end.
 *
 * Every thread that is alive has an operation it is about to perform. A decision is made by whichever thread
 * has just reached its next operation (or ended): by the given schedule, or by the strategy among all that is
 * possible. What was decided is written down as steps, whoever decided it.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "abi/event_part.h"
#include "runtime/control/control.h"
#include "runtime/control/heap.h"
#include "runtime/control/server.h"
#include "runtime/control/switching.h"

RT_STATE struct rt_globals rt;
__thread uint32_t heddle_control_site __attribute__((tls_model("initial-exec"))) = HEDDLE_NO_SITE;

/* Where a debugger may look, and stop before each step (plan.break_at_switch). */
RT_STATE uint64_t heddle_control_step;
RT_STATE uint64_t heddle_control_event;
RT_STATE uint32_t heddle_control_thread;
__attribute__((noinline, used)) void heddle_control_at_switch(void) {
  __asm__ volatile("" ::: "memory");
}

#define MAX_ACTIONS 65536
RT_STATE static struct rt_action* actions;
RT_STATE static uint16_t*
    given_thread; /* index in the given schedule -> thread, NO_THREAD while it does not exist */
RT_STATE static uint16_t* given_index; /* thread -> index in the given schedule */
RT_STATE static uint64_t given_step, given_left;
/* Steps that may be put off: what is left of each, and whether any was so far. */
#define MAX_TURNS 4096
RT_STATE static uint64_t turns_left[MAX_TURNS];
RT_STATE static bool put_off;
RT_STATE static uint32_t spinners;
#define NO_THREAD 0xffffu
/* Milliseconds for what may come from outside: where a timed wait could end instead, and where other threads
 * could run. */
#define BRIEFLY 5
#define A_WHILE 300

static struct heddle_step* steps_in(void) {
  return (struct heddle_step*)((char*)rt.block + rt.block->layout.steps_in);
}

static struct heddle_step* steps_out(void) {
  return (struct heddle_step*)((char*)rt.block + rt.block->layout.steps_out);
}

static struct heddle_thread_entry* entries_in(void) {
  return (struct heddle_thread_entry*)((char*)rt.block + rt.block->layout.threads_in);
}

static struct heddle_thread_entry* entries_out(void) {
  return (struct heddle_thread_entry*)((char*)rt.block + rt.block->layout.threads);
}

void rt_scheduler_init(void) {
  actions = rt_map(sizeof(struct rt_action) * MAX_ACTIONS);
  given_thread = rt_map(sizeof(uint16_t) * 65536);
  given_index = rt_map(sizeof(uint16_t) * 65536);
  rt.threads = rt_map(sizeof(struct rt_thread) * HEDDLE_CONTROL_MAX_THREADS);
  rt.live = rt_map(sizeof(uint16_t) * HEDDLE_CONTROL_MAX_THREADS);
}

static uint64_t count_of(const struct heddle_step* step) {
  return step->kind == HEDDLE_STEP_run || step->kind == HEDDLE_STEP_flush ? step->count : 1;
}

/* `begun` steps are done but for what is left of the last of them. */
static void begin_turns(uint64_t begun, uint64_t left) {
  for (uint64_t i = 0; i < rt.plan.steps && i < MAX_TURNS; ++i)
    turns_left[i] = i + 1 < begun ? 0 : i + 1 == begun ? left : count_of(&steps_in()[i]);
}

void rt_begin_execution(void) {
  rt.events = rt.turn_from = rt.loop_events = rt.values = rt.preemptions = rt.quiet = rt.now = 0;
  rt.thread_count = rt.live_count = 0;
  rt.arenas_taken = 0;
  rt.random = rt.seed * 0x2545f4914f6cdd1dull + 0x632be59bd9b4e019ull;
  rt.following = rt.plan.steps > 0;
  rt.alone = NULL;
  given_step = given_left = 0;
  put_off = false;
  if (rt.plan.lenient == HEDDLE_LENIENT_put_off) begin_turns(0, 0);
  spinners = 0;
  rt.block->result.steps = 0;
  rt.block->result.steps_truncated = 0;
  rt_access_begin_execution();
  rt.block->result.kept_events = 0;
  rt.block->result.pending_events = 0;
  memset(given_thread, 0xff, sizeof(uint16_t) * (rt.block->layout.threads_in_count + 1));
  rt_scratch_begin_execution();
  rt_buffers_begin_execution();
  if (rt.plan.guided) rt_guide_begin_execution();
  rt_strategy_begin();
  rt_snapshots_begin_execution();
  struct rt_thread* first = rt_new_thread(NULL);
  first->op.site = HEDDLE_NO_SITE;
  rt_slots_begin_execution(first);
  rt.current = first;
  rt_heap_begin_execution();
  rt.active = true;
}

/* ---- threads */
static void match_given_thread(struct rt_thread* thread) {
  given_index[thread->index] = NO_THREAD;
  const struct heddle_thread_entry* entries = entries_in();
  const uint64_t count = rt.block->layout.threads_in_count;
  if (thread->index == 0) {
    if (count > 0) given_thread[given_index[0] = 0] = 0;
    return;
  }
  const uint32_t creator = given_index[thread->creator];
  if (creator == NO_THREAD) return;
  for (uint64_t i = 1; i < count; ++i)
    if (entries[i].creator == creator && entries[i].child == thread->child) {
      given_index[thread->index] = (uint16_t)i;
      given_thread[i] = (uint16_t)thread->index;
      return;
    }
}

/* Threads of main() have the first arenas in order; others are looked for from a place that their names give.
 */
static uint32_t arena_for(const struct rt_thread* thread) {
  enum { FIRST = HEAP_ROOMY / 2, COUNT = HEAP_ROOMY - FIRST };
  if (thread->index == 0) return 0;
  if (thread->creator == 0 && thread->child + 1 < FIRST) return thread->child + 1;
  for (uint32_t i = 0; i < COUNT; ++i) {
    const uint32_t at = (uint32_t)((thread->path + i) % COUNT);
    if ((rt.arenas_taken >> at & 1) != 0) continue;
    rt.arenas_taken |= 1u << at;
    return FIRST + at;
  }
  const uint32_t rest = HEAP_ROOMY + thread->index;
  return rest < HEAP_SHARED ? rest : HEAP_SHARED;
}

struct rt_thread* rt_new_thread(struct rt_thread* creator) {
  if (rt.thread_count == HEDDLE_CONTROL_MAX_THREADS) return NULL;
  struct rt_thread* thread = &rt.threads[rt.thread_count];
  memset(thread, 0, sizeof *thread);
  thread->index = rt.thread_count++;
  thread->creator = creator != NULL ? creator->index : 0;
  thread->child = creator != NULL ? creator->children++ : 0;
  thread->path = creator != NULL ? rt_mix(creator->path, thread->child + 1) : 0;
  thread->arena = arena_for(thread);
  thread->state = RT_ALIVE;
  rt.live[rt.live_count++] = (uint16_t)thread->index;
  if (thread->index < rt.block->layout.threads_capacity)
    entries_out()[thread->index] = (struct heddle_thread_entry){
        .creator = thread->creator, .child = thread->child, .site = heddle_control_site};
  match_given_thread(thread);
  rt_strategy_thread(thread);
  return thread;
}

/* A std::thread begins in a function of the library with a state in the heap. What it is to call lies at the
 * state's end if it is a function, else its type is that of the state, whose third virtual function calls it.
 */
static uint64_t called_by_state(const uint64_t* state) {
  extern const char __executable_start, etext, _end;
  const uint64_t text = (uintptr_t)&__executable_start, text_size = (uintptr_t)&etext - text;
  const uint64_t data_size = (uintptr_t)&_end - text - 3 * sizeof(uint64_t);
  const struct heap_block* block = heap_find((uintptr_t)state);
  if (block == NULL || (const void*)(block + 1) != state || block->granules > 16) return 0;
  for (size_t i = block->granules * HEAP_GRANULE / sizeof(uint64_t) - 1; i > 0; --i)
    if (state[i] - text < text_size) return state[i];
  if (state[0] - text >= data_size || state[0] % sizeof(uint64_t) != 0) return 0;
  const uint64_t run = ((const uint64_t*)(uintptr_t)state[0])[2];
  return run - text < text_size ? run : 0;
}

void rt_note_start(struct rt_thread* thread, uint64_t start) {
  if (thread->index >= rt.block->layout.threads_capacity) return;
  struct heddle_thread_entry* entry = &entries_out()[thread->index];
  entry->start = start;
  entry->argument = (uint64_t)(uintptr_t)thread->argument;
  entry->calls = called_by_state(thread->argument);
}

static void remove_live(const struct rt_thread* thread) {
  uint32_t at = 0;
  while (rt.live[at] != thread->index) ++at;
  memmove(&rt.live[at], &rt.live[at + 1], sizeof(uint16_t) * (rt.live_count - at - 1));
  --rt.live_count;
}

struct rt_thread* rt_next_waiter(struct rt_thread* after, enum heddle_sync_kind kind, const void* object) {
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (after != NULL && thread->index <= after->index) continue;
    if (thread->op.kind == HEDDLE_EVENT_sync + kind && thread->op.object == object) return thread;
  }
  return NULL;
}

bool rt_enabled(const struct rt_thread* thread) {
  return thread->op.ready == NULL || thread->op.ready(thread);
}

/* ---- spin loops: strategies prefer threads that make progress (access.c recognises them) */
void rt_set_spinning(struct rt_thread* thread, bool spinning) {
  if (thread->spinning == spinning) return;
  thread->spinning = spinning;
  spinners += spinning ? 1u : -1u;
}

static bool watches(const struct rt_thread* thread, const void* at, uint64_t size) {
  if (at == NULL || thread->reads_lost) return true;
  for (uint32_t i = 0; i < thread->read_count; ++i) {
    const uint64_t read = (uint64_t)(uintptr_t)thread->reads[i].at, changed = (uint64_t)(uintptr_t)at;
    if (read < changed + size && changed < read + 16) return true;
  }
  return false;
}

void rt_changed(const void* at, uint64_t size) {
  rt.quiet = 0;
  if (spinners == 0) return;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread->spinning && thread != rt.current && watches(thread, at, size)) {
      rt_set_spinning(thread, false);
      thread->read_count = 0;
      thread->reads_lost = false;
    }
  }
}

/* ---- writing down what is done */
static struct heddle_step* last_step(void) {
  const uint64_t count = rt.block->result.steps;
  return count == 0 ? NULL : &steps_out()[count - 1];
}

void rt_value(struct rt_thread* self, uint32_t site, uint64_t value) {
  rt.values = rt_mix(rt_mix(rt.values, value), ((uint64_t)self->index << 32) | site);
  struct heddle_step* step = last_step();
  if (step != NULL) step->values = rt_mix(step->values, value ^ site);
}

static enum heddle_step_end end_of(const struct rt_thread* thread) {
  if (thread->state == RT_FINISHED) return HEDDLE_END_exited;
  if (!rt_enabled(thread)) return HEDDLE_END_blocked;
  return thread->yielded || thread->spinning ? HEDDLE_END_yielded : HEDDLE_END_preempted;
}

void rt_close_step(const struct rt_thread* self) {
  struct heddle_step* step = last_step();
  if (step != NULL && step->kind == HEDDLE_STEP_run && step->thread == self->index) step->end = end_of(self);
}

static struct heddle_step* new_step(enum heddle_step_kind kind, const struct rt_thread* thread) {
  struct heddle_result* result = &rt.block->result;
  if (result->steps == rt.block->layout.steps_out_capacity) {
    result->steps_truncated = 1;
    return NULL;
  }
  struct heddle_step* step = &steps_out()[result->steps++];
  *step = (struct heddle_step){
      .kind = (uint8_t)kind, .thread = (uint16_t)thread->index, .site = thread->op.site, .count = 1};
  if (rt.plan.break_at_switch) {
    heddle_control_step = result->steps;
    heddle_control_event = rt.events;
    heddle_control_thread = thread->index;
    heddle_control_at_switch();
  }
  return step;
}

static void note_run(struct rt_thread* self, struct rt_thread* next) {
  struct heddle_step* step = last_step();
  if (step != NULL && step->kind == HEDDLE_STEP_run && step->thread == next->index) {
    ++step->count;
    return;
  }
  if (self != next) {
    rt_close_step(self);
    const bool preempted = end_of(self) == HEDDLE_END_preempted;
    if (preempted) ++rt.preemptions;
    self->preempted_at = preempted ? rt.events + 1 : 0;
    next->preempted_at = 0;
  }
  new_step(HEDDLE_STEP_run, next);
}

static void note_flush(const struct rt_thread* thread, const struct rt_store* store) {
  struct heddle_place place = {.kind = HEDDLE_PLACE_none};
  if (rt.plan.memory_model == HEDDLE_MODEL_pso) rt_place_of(store->at, &place);
  struct heddle_step* step = last_step();
  /* Who keeps events wants to know which store it was. */
  if (step != NULL && step->kind == HEDDLE_STEP_flush && step->thread == thread->index &&
      !rt.plan.keep_events && memcmp(&step->place, &place, sizeof place) == 0) {
    ++step->count;
    return;
  }
  step = new_step(HEDDLE_STEP_flush, thread);
  if (step == NULL) return;
  step->site = store->site;
  step->place = place;
  step->address = (uint64_t)(uintptr_t)store->at;
}

/* ---- following a given schedule */
static _Noreturn void diverge(const char* format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void diverge(const char* format, ...) {
  va_list arguments;
  __builtin_va_start(arguments, format);
  vsnprintf(rt.block->result.text, sizeof rt.block->result.text, format, arguments);
  __builtin_va_end(arguments);
  rt.block->result.step = given_step;
  rt_finish(HEDDLE_OUTCOME_diverged);
}

static bool anything_enabled(void) {
  for (uint32_t i = 0; i < rt.live_count; ++i)
    if (rt_enabled(&rt.threads[rt.live[i]]) || rt.threads[rt.live[i]].oldest != NULL) return true;
  return false;
}

/* Whether what this thread waits for came from outside meanwhile. Where other threads could go on, it may be
 * these that it waits for after all: then only for a while. */
static bool comes_from_outside(const struct rt_thread* thread) {
  return rt_waits_for_files(thread) && rt_wait_for_files(thread, anything_enabled() ? A_WHILE : -1);
}

static struct rt_thread* given_alive(const struct heddle_step* step) {
  const uint16_t index =
      step->thread < rt.block->layout.threads_in_count ? given_thread[step->thread] : NO_THREAD;
  if (index == NO_THREAD) diverge("the thread has not been created yet");
  struct rt_thread* thread = &rt.threads[index];
  if (thread->state != RT_ALIVE) diverge("the thread has ended already");
  return thread;
}

/* The next store of a full flush: the oldest for its place, or what has to become visible before it. Null:
 * there is none. */
static struct rt_store* store_of_full_flush(const struct rt_thread* thread, const struct heddle_step* step) {
  struct rt_store* wanted = thread->oldest;
  while (wanted != NULL && !rt_place_matches(&step->place, wanted->at)) wanted = wanted->next;
  if (wanted == NULL) return NULL;
  struct rt_store* store =
      rt.plan.memory_model == HEDDLE_MODEL_tso ? thread->oldest : rt_first_to_flush(thread, wanted);
  if (store == wanted) --given_left;
  return store;
}

static struct rt_store* given_store(const struct rt_thread* thread, const struct heddle_step* step) {
  if (thread->oldest == NULL) diverge("the thread has no buffered store");
  if (rt.plan.memory_model == HEDDLE_MODEL_tso) return thread->oldest;
  for (struct rt_store* store = thread->oldest; store != NULL; store = store->next)
    if (rt_place_matches(&step->place, store->at)) {
      if (!rt_may_flush(thread, store)) diverge("an earlier store must become visible before this one");
      return store;
    }
  diverge("the thread has no buffered store to this location");
}

/* Whether what a step by name asks for has been done. */
static bool is_reached(const struct heddle_step* step) {
  const uint16_t index =
      step->thread < rt.block->layout.threads_in_count ? given_thread[step->thread] : NO_THREAD;
  return index != NO_THREAD &&
         rt_guide_count(&rt.threads[index], step->site, (enum heddle_step_target)step->target) >= step->count;
}

static struct rt_store* store_towards(const struct rt_thread* thread, const struct heddle_step* step) {
  const struct rt_store* wanted = thread->oldest;
  while (wanted != NULL && (wanted->site != step->site || wanted->occurrence != step->count))
    wanted = wanted->next;
  if (wanted == NULL) return NULL; /* visible already */
  struct rt_store* store = thread->oldest;
  if (rt.plan.memory_model == HEDDLE_MODEL_pso && rt_may_flush(thread, wanted))
    while (store != wanted) store = store->next;
  return store;
}

/* A thread waits for what others send it through a file, of which who made the order knew nothing: the next of
 * them goes on instead. What it does early counts when the order comes to it (is_reached). */
static bool others_go_on(const struct rt_thread* waiting, struct rt_action* action) {
  if (!rt_waits_for_files(waiting) && !rt_is_in_unseen_loop(waiting)) return false;
  for (uint64_t at = given_step; at < rt.plan.steps; ++at) {
    const struct heddle_step* step = &steps_in()[at];
    if (step->kind != HEDDLE_STEP_run_to || step->thread >= rt.block->layout.threads_in_count) continue;
    const uint16_t index = given_thread[step->thread];
    if (index == NO_THREAD || is_reached(step)) continue;
    struct rt_thread* thread = &rt.threads[index];
    if (thread == waiting || thread->state != RT_ALIVE || !rt_enabled(thread)) continue;
    action->thread = thread;
    return true;
  }
  return false;
}

/* Towards the present step by name; thread null: it is done. */
static struct rt_action next_towards(const struct heddle_step* step) {
  struct rt_action action = {.kind = HEDDLE_STEP_run, .thread = NULL};
  if (step->kind == HEDDLE_STEP_flush_to) {
    struct rt_thread* thread = given_alive(step);
    action.kind = HEDDLE_STEP_flush;
    action.store = store_towards(thread, step);
    if (action.store != NULL) action.thread = thread;
    return action;
  }
  if (is_reached(step)) return action;
  struct rt_thread* thread = given_alive(step);
  action.thread = thread;
  const bool times_out = step->target == HEDDLE_TARGET_timeout && thread->op.timed && !thread->timed_out &&
                         thread->op.site == step->site &&
                         rt_guide_count(thread, step->site, HEDDLE_TARGET_sync) + 1 == step->count;
  if (rt_enabled(thread) && !times_out) return action;
  if (times_out || thread->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_sleep) {
    action.kind = HEDDLE_STEP_timeout;
  } else if (!(rt_waits_inside(thread) && others_go_on(thread, &action)) && !comes_from_outside(thread) &&
             !others_go_on(thread, &action) && !rt_release_unseen_loop(thread)) {
    if (!anything_enabled() && given_step == rt.plan.steps) rt_standstill();
    diverge("the thread waits and does not come to this event");
  }
  return action;
}

/* Asked for a lenient plan only, whose steps are those of a run in another order. */
static bool is_possible(const struct heddle_step* step) {
  const uint16_t index =
      step->thread < rt.block->layout.threads_in_count ? given_thread[step->thread] : NO_THREAD;
  if (index == NO_THREAD || rt.threads[index].state != RT_ALIVE) return false;
  const struct rt_thread* thread = &rt.threads[index];
  switch (step->kind) {
    case HEDDLE_STEP_run:
      return rt_enabled(thread);
    case HEDDLE_STEP_flush:
      if (rt.plan.memory_model == HEDDLE_MODEL_tso) return thread->oldest != NULL;
      for (struct rt_store* store = thread->oldest; store != NULL; store = store->next)
        if (rt_place_matches(&step->place, store->at)) return rt_may_flush(thread, store);
      return false;
    case HEDDLE_STEP_wake:
      return thread->op.spurious;
    case HEDDLE_STEP_timeout:
      return thread->op.timed && !thread->timed_out && !rt_enabled(thread);
    default:
      return true;
  }
}

/* Each step as far as it goes; when its thread cannot go on, or waits by spinning, the rest is put off until
 * the others have had their turn. Over when none of them can go on. */
static struct rt_action next_turn(void) {
  const uint64_t count = rt.plan.steps < MAX_TURNS ? rt.plan.steps : MAX_TURNS;
  for (int yielded = 0; yielded < 2; ++yielded) {
    uint64_t at = given_step == 0 ? 0 : given_step - 1;
    for (uint64_t looked = 0; looked < count; ++looked, at = (at + 1) % count) {
      const struct heddle_step* step = &steps_in()[at];
      if (turns_left[at] == 0) continue;
      if (step->kind == HEDDLE_STEP_run && is_possible(step)) {
        struct rt_thread* thread = given_alive(step);
        if (!thread->spinning && (yielded || !thread->yielded)) {
          given_step = at + 1;
          given_left = --turns_left[at];
          return (struct rt_action){.kind = HEDDLE_STEP_run, .thread = thread};
        }
      }
      put_off = true;
    }
  }
  rt.following = false;
  return (struct rt_action){.thread = NULL};
}

/* The next action of the given schedule; thread null: ask again, the schedule may be over by now. */
static struct rt_action next_given(void) {
  if (rt.plan.lenient == HEDDLE_LENIENT_put_off) return next_turn();
  const bool lenient = rt.plan.lenient == HEDDLE_LENIENT_leave_out;
  if (lenient && given_left != 0 && !is_possible(&steps_in()[given_step - 1])) given_left = 0;
  while (given_left == 0) {
    if (given_step == rt.plan.steps) {
      if (!rt.plan.prefix) {
        if (!anything_enabled()) rt_standstill();
        diverge("the schedule ends here, the program goes on");
      }
      rt.following = false;
      return (struct rt_action){.thread = NULL};
    }
    const struct heddle_step* step = &steps_in()[given_step++];
    if (lenient && !is_possible(step)) continue;
    given_left = count_of(step);
  }
  const struct heddle_step* step = &steps_in()[given_step - 1];
  if (step->kind >= HEDDLE_STEP_run_to) {
    const struct rt_action towards = next_towards(step);
    if (towards.thread == NULL) given_left = 0;
    return towards;
  }
  struct rt_thread* thread = given_alive(step);
  struct rt_action action = {.kind = (enum heddle_step_kind)step->kind, .thread = thread};
  if (step->kind == HEDDLE_STEP_flush && rt.plan.full_flushes && step->place.kind != HEDDLE_PLACE_none) {
    action.store = store_of_full_flush(thread, step);
    if (action.store == NULL) {
      given_left = 0;
      action.thread = NULL;
    }
    return action;
  }
  --given_left;
  switch (step->kind) {
    case HEDDLE_STEP_run:
      if (!rt_enabled(thread) && !rt_release_unseen_loop(thread) && !comes_from_outside(thread)) {
        if (!anything_enabled() && given_step == rt.plan.steps) rt_standstill();
        diverge("the thread waits and cannot perform this event");
      }
      break;
    case HEDDLE_STEP_flush:
      action.store = given_store(thread, step);
      break;
    case HEDDLE_STEP_wake:
      if (!thread->op.spurious) diverge("the thread does not wait for a condition: there is nothing to wake");
      break;
    case HEDDLE_STEP_timeout:
      if (!thread->op.timed) diverge("the thread is in no timed wait");
      break;
    default:
      diverge("unknown step");
  }
  return action;
}

/* Before an action of the given schedule: another run may begin here later, with other steps from here on. */
static void snapshot_point(void) {
  const uint64_t count = given_step == 0 ? 0 : count_of(&steps_in()[given_step - 1]) - given_left;
  if (!rt_leave_snapshot(given_step, count)) return;
  given_left = given_step == 0 ? 0 : count_of(&steps_in()[given_step - 1]) - count;
  if (rt.plan.lenient == HEDDLE_LENIENT_put_off) begin_turns(given_step, given_left);
  rt.following = rt.plan.steps > 0;
  memset(given_thread, 0xff, sizeof(uint16_t) * (rt.block->layout.threads_in_count + 1));
  for (uint32_t i = 0; i < rt.thread_count; ++i) match_given_thread(&rt.threads[i]);
}

/* ---- what is possible */
static void add_flushes(struct rt_thread* thread, uint32_t* count) {
  for (struct rt_store* store = thread->oldest; store != NULL && *count < MAX_ACTIONS; store = store->next) {
    if (rt_may_flush(thread, store))
      actions[(*count)++] = (struct rt_action){.kind = HEDDLE_STEP_flush, .thread = thread, .store = store};
    if (rt.plan.memory_model == HEDDLE_MODEL_tso) break;
  }
}

/* A choice of the harness: nobody waits, its end "by time" is the other answer. */
static bool may_choose(const struct rt_thread* thread) {
  return thread->op.size == HEDDLE_PART_choice && thread->op.timed && !thread->timed_out &&
         thread->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_attribute;
}

static struct rt_action earliest_timeout(void) {
  struct rt_action action = {.kind = HEDDLE_STEP_timeout, .thread = NULL};
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread->op.timed && !thread->timed_out &&
        (action.thread == NULL || thread->op.deadline < action.thread->op.deadline))
      action.thread = thread;
  }
  return action;
}

/* A thread that is alone makes its choices all the same. */
static struct rt_action choose_alone(struct rt_thread* self, struct rt_thread* alone) {
  uint32_t count = 0;
  actions[count++] = (struct rt_action){.kind = HEDDLE_STEP_run, .thread = alone};
  if (may_choose(alone)) actions[count++] = (struct rt_action){.kind = HEDDLE_STEP_timeout, .thread = alone};
  return rt_strategy_choose(self, actions, count);
}

/* Threads that work until another one has slept for a second leave it no other way to wake up, where nobody is
 * preempted or the second is more than the strategy lets pass. So every now and then somebody whose time was
 * over long ago, or who has slept through many events, has his turn. */
#define NOW_AND_THEN 65536 /* events */
#define LONG_SLEEP 200000
#define LONG_AGO 200000000 /* nanoseconds */
static bool is_overdue(const struct rt_thread* thread) {
  if (!thread->op.timed || may_choose(thread)) return false;
  if (thread->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_sleep && rt.events - thread->slept_from >= LONG_SLEEP)
    return true;
  const uint64_t now = rt_clock(CLOCK_MONOTONIC);
  return now > LONG_AGO && thread->op.deadline <= now - LONG_AGO;
}

/* Thread null: nobody. */
static struct rt_action overdue(void) {
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (!is_overdue(thread)) continue;
    if (rt_enabled(thread)) return (struct rt_action){.kind = HEDDLE_STEP_run, .thread = thread};
    if (!thread->timed_out) return (struct rt_action){.kind = HEDDLE_STEP_timeout, .thread = thread};
  }
  return (struct rt_action){.thread = NULL};
}

/* Runs of enabled threads come first, then flushes, then waits that may end. */
static struct rt_action choose_by_strategy(struct rt_thread* self) {
  if (RT_UNLIKELY(rt.alone != NULL) && rt.alone->state == RT_ALIVE && rt_enabled(rt.alone))
    return choose_alone(self, rt.alone);
  struct rt_thread* only = &rt.threads[rt.live[0]];
  if (rt.live_count == 1 && only->oldest == NULL && rt_enabled(only) && !only->op.timed)
    return (struct rt_action){.kind = HEDDLE_STEP_run, .thread = only};
  if (RT_UNLIKELY(rt.events % NOW_AND_THEN == 0) && rt.events != 0) {
    const struct rt_action due = overdue();
    if (due.thread != NULL) return due;
  }
  for (;;) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rt.live_count; ++i) {
      struct rt_thread* thread = &rt.threads[rt.live[i]];
      if (rt_enabled(thread)) actions[count++] = (struct rt_action){.kind = HEDDLE_STEP_run, .thread = thread};
    }
    if (rt.plan.memory_model != HEDDLE_MODEL_sc)
      for (uint32_t i = 0; i < rt.live_count; ++i) add_flushes(&rt.threads[rt.live[i]], &count);
    if (count == 0) {
      const struct rt_action timeout = earliest_timeout();
      if (rt_release_unseen_loops()) continue;
      if (rt_wait_for_files(NULL, timeout.thread != NULL ? BRIEFLY : -1)) continue;
      if (timeout.thread == NULL) rt_standstill();
      return timeout;
    }
    for (uint32_t i = 0; i < rt.live_count && count < MAX_ACTIONS; ++i) {
      struct rt_thread* thread = &rt.threads[rt.live[i]];
      if (may_choose(thread) || (thread->op.timed && !thread->timed_out && !rt_enabled(thread) &&
                                 rt_strategy_may_end(thread->op.deadline)))
        actions[count++] = (struct rt_action){.kind = HEDDLE_STEP_timeout, .thread = thread};
      if (rt.plan.spurious_wakeups && thread->op.spurious && !thread->woken && !rt_enabled(thread))
        actions[count++] = (struct rt_action){.kind = HEDDLE_STEP_wake, .thread = thread};
    }
    return rt_strategy_choose(self, actions, count);
  }
}

static struct rt_thread* choose(struct rt_thread* self) {
  for (;;) {
    if (rt.plan.livelock_bound != 0 && (rt.quiet > rt.plan.livelock_bound || rt_strategy_endless()))
      rt_fail(HEDDLE_OUTCOME_livelock, "");
    struct rt_action action;
    if (rt.following) {
      if (RT_UNLIKELY(rt.plan.snapshots != 0) && !put_off && rt_snapshot_due()) snapshot_point();
      action = next_given();
      if (action.thread == NULL) continue;
    } else {
      action = choose_by_strategy(self);
    }
    switch (action.kind) {
      case HEDDLE_STEP_run:
        note_run(self, action.thread);
        return action.thread;
      case HEDDLE_STEP_flush:
        rt_close_step(self);
        note_flush(action.thread, action.store);
        rt_flush_one(action.thread, action.store);
        break;
      case HEDDLE_STEP_wake:
        rt_close_step(self);
        new_step(HEDDLE_STEP_wake, action.thread);
        action.thread->woken = true;
        break;
      case HEDDLE_STEP_timeout:
        rt_close_step(self);
        new_step(HEDDLE_STEP_timeout, action.thread);
        action.thread->timed_out = true;
        rt_advance_clock(action.thread->op.deadline);
        rt.quiet = 0;
        break;
      case HEDDLE_STEP_run_to: /* next_towards() makes actions of the other kinds of them */
      case HEDDLE_STEP_flush_to:
        break;
    }
  }
}

/* ---- decision points */
void rt_chosen(struct rt_thread* self) {
  ++self->events;
  ++rt.events;
  rt.quiet = self->spinning ? rt.quiet + 1 : 0;
  if (self->spinning || self->yielded) ++self->idle;
  self->yielded = false;
  if ((rt.events & 255) == 0) rt.block->event_progress = rt.events - rt.loop_events;
  if (rt.plan.max_events != 0 && rt.events > rt.plan.max_events) rt_fail(HEDDLE_OUTCOME_limit, "");
  rt_strategy_performed(self);
  if (RT_UNLIKELY(rt.plan.guided)) rt_guide_performed(self);
  rt_keep_event(self);
  rt_note_move(HEDDLE_MOVE_event, self->op.site);
}

void rt_decide(struct rt_thread* self) {
  rt_settle(self);
  struct rt_thread* next = choose(self);
  if (next != self) {
    rt.turn_from = rt.events;
    rt.current = next;
    rt_switch(self, next);
  }
  rt_chosen(self);
}

/* Of objects that are memory. A bad address is the fault of the thread that came with it, so it is touched at
 * once and not first by whoever asks whether the thread is ready. */
static uint64_t memory_size(uint16_t kind) {
  const uint32_t sync = kind - (uint32_t)HEDDLE_EVENT_sync;
  if (sync < HEDDLE_SYNC_cond_init) return sizeof(pthread_mutex_t);
  if (sync < HEDDLE_SYNC_rwlock_init) return sizeof(pthread_cond_t);
  if (sync < HEDDLE_SYNC_spin_init) return sizeof(pthread_rwlock_t);
  if (sync < HEDDLE_SYNC_barrier_init) return sizeof(pthread_spinlock_t);
  if (sync < HEDDLE_SYNC_thread_create) return sizeof(sem_t); /* barriers are as large */
  if (sync == HEDDLE_SYNC_once || sync == HEDDLE_SYNC_futex) return sizeof(int);
  return sync > HEDDLE_SYNC_once && sync <= HEDDLE_SYNC_guard_abort ? 8 : 0;
}

static void check_object(const struct rt_op* op) {
  if (memory_size(op->kind) == 0) return;
  (void)*(volatile const uint8_t*)op->object;
  rt_heap_check(op->object, 1, op->site);
}

struct rt_thread* rt_sync(enum heddle_sync_kind kind, const void* object) {
  struct rt_thread* self = rt.current;
  if (rt.active && rt_signal_pending(self)) rt_deliver_signals(self);
  const bool cancellable = self->cancel_state == PTHREAD_CANCEL_ENABLE && !self->unwinding;
  self->op = (struct rt_op){.kind = (uint16_t)(HEDDLE_EVENT_sync + kind),
                            .order = cancellable ? HEDDLE_SYNC_cancellable : HEDDLE_SYNC_not_cancellable,
                            .site = heddle_control_site,
                            .object = object};
  self->timed_out = self->woken = false;
  if (rt.active) {
    check_object(&self->op);
    /* The object itself may have been stored to as plain memory (initialised by assignment). */
    if (self->oldest != NULL && rt_overlaps_buffer(self, object, memory_size(self->op.kind))) rt_drain(self);
  }
  return self;
}

void rt_perform(struct rt_thread* self) {
  if (!rt.active) return;
  rt_decide(self);
  check_object(&self->op);
  rt_drain(self);
  self->last.kind = HEDDLE_EVENT_sync;
  self->last.open = true;
}

int rt_result(struct rt_thread* self, int result) {
  if (!rt.active) return result;
  rt_value(self, self->op.site, (uint64_t)(int64_t)result);
  rt_keep_value(self, (uint64_t)(int64_t)result);
  return result;
}

void rt_unchanged(struct rt_thread* self) {
  if (!rt.active) return;
  self->last.open = false;
  rt_note_read(self, self->op.site, self->op.object, __builtin_frame_address(0), 0);
}

void rt_yielded(struct rt_thread* self) {
  if (!rt.active) return;
  self->yielded = true;
  self->last.open = false;
}

_Noreturn void rt_leave(struct rt_thread* self) {
  self->state = RT_FINISHED;
  rt_set_spinning(self, false);
  remove_live(self);
  rt_changed(NULL, 0);
  struct rt_slot* slot = self->slot;
  if (self->detached) rt_release_slot(slot);
  if (rt.live_count == 0) rt_last_thread_ended();
  struct rt_thread* next = choose(self);
  rt.current = next;
  rt_switch(NULL, next);
  rt_abandon(slot);
}
