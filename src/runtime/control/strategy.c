/* Strategies: which of the possible actions comes next. All are functions of the seed and of what happened so
 * far.
 *
 * The actions are runs of enabled threads, flushes of buffered stores, and ends of waits (by time, spurious).
 * Flushes take part like threads of their own: that is what a store buffer is. Ends of waits by time are rare
 * choices while anything else is possible, because programs rely on sleeps and timeouts being long; the
 * scheduler takes them by itself when nothing else is left.
 *
 * Fairness: a thread that spins or gave way comes after the others; random walks give it a small chance all the
 * same, for what looks like spinning may be a loop over unchanged shared data. Runs much longer than expected
 * go over to the random walk, so that priorities cannot starve a thread for ever.
 */
#include "runtime/control/control.h"
#include "runtime/control/server.h"

#define LONG_WAIT (60ull * 1000000000) /* nobody means such a wait to end by its time when others still run */
#define EARLY_TIMEOUT 24               /* one in so many decisions considers waits that may end early */
#define MAX_CHANGE_POINTS 64
#define LOW_PRIORITIES (1ull << 32) /* change points are just below this, those who gave way far below */

RT_STATE static uint64_t change_points[MAX_CHANGE_POINTS];
RT_STATE static uint32_t change_count;
RT_STATE static uint64_t lowest;   /* next priority for a thread that gives way */
RT_STATE static uint64_t longest;  /* events of the longest execution that passed */
RT_STATE static uint64_t expected; /* length of this one */
RT_STATE static uint32_t patience; /* events that a thread may do in vain before others are preferred to it */
#define PATIENCE 48                /* in every other execution: libraries spin and yield before they block */

/* Strategy "hold": one place of the code in `held_share` is held in this execution, which ones is drawn. A bug
 * that needs a thread to stay between two of its accesses for long is met by few change points among all
 * events, but by many of the places: there are fewer of them. In half of the executions who is not held goes on
 * at random, in the others by priorities. */
#define MOST_HELD_SHARES 9
RT_STATE static uint64_t held_salt;
RT_STATE static uint32_t held_share;
RT_STATE static bool held_walk;

RT_STATE static uint32_t in_vain;  /* events that threads may still do in vain while others are held back */
RT_STATE static bool awaited_came; /* plan.awaited has done what a thread is delayed for */

static bool is_held_place(uint32_t site) {
  uint64_t hash = held_salt ^ site;
  return rt_next_random(&hash) % held_share == 0;
}

static uint64_t high_priority(void) {
  return LOW_PRIORITIES + (rt_next_random(&rt.random) >> 1);
}

void rt_strategy_begin(void) {
  awaited_came = false;
  in_vain = 4096;
  expected = rt.plan.expected_events != 0 ? rt.plan.expected_events : longest != 0 ? longest : 100;
  lowest = LOW_PRIORITIES / 2;
  patience = rt.plan.strategy != HEDDLE_STRATEGY_nonpreemptive && rt_random_below(2) == 0 ? PATIENCE : 0;
  change_count = 0;
  if (rt.plan.strategy == HEDDLE_STRATEGY_hold) {
    held_salt = rt_next_random(&rt.random);
    held_share = 2u << rt_random_below(MOST_HELD_SHARES);
    held_walk = rt_random_below(2) == 0;
  }
  if (rt.plan.strategy != HEDDLE_STRATEGY_pct || rt.plan.depth == 0) return;
  change_count = rt.plan.depth - 1 < MAX_CHANGE_POINTS ? rt.plan.depth - 1 : MAX_CHANGE_POINTS;
  for (uint32_t i = 0; i < change_count; ++i) change_points[i] = 1 + rt_random_below(expected);
}

void rt_strategy_learn(uint64_t events) {
  if (events > longest) longest = events;
}

/* The random walk, to which long runs go over, is fair: a program that can end does so. */
bool rt_strategy_endless(void) {
  return longest != 0 && rt.events > 50 * rt.plan.livelock_bound && rt.events > 100 * longest;
}

void rt_strategy_thread(struct rt_thread* thread) {
  thread->priority = high_priority();
  thread->flush_priority = high_priority();
}

/* A thread that works until another one tells it to stop would never be told. */
#define LONG_TURN 262144
static bool has_had_its_turn(void) {
  return rt.events - rt.turn_from >= LONG_TURN;
}

static bool gives_way(const struct rt_thread* thread) {
  return (thread->spinning || thread->yielded) && thread->idle >= patience;
}

bool rt_strategy_may_end(uint64_t deadline) {
  const bool awaits = rt.plan.delayed != 0 && !awaited_came;
  return (rt.plan.strategy != HEDDLE_STRATEGY_nonpreemptive || awaits) &&
         deadline < rt_clock(CLOCK_MONOTONIC) + LONG_WAIT;
}

/* Threads that spin wait until nobody else goes on. Who only gives way, again and again, does not: it may be
 * one of them that it waits for. */
#define OFTEN 256
static bool goes_on(const struct rt_thread* thread) {
  return !thread->spinning && !(thread->yielded && thread->idle >= OFTEN);
}

/* At an operation that may have to wait: a wait for a condition is two, the first one lets the mutex go. */
static bool is_held(const struct rt_thread* thread) {
  if (thread->op.ready == NULL) return false;
  for (uint32_t i = 0; i < rt.plan.held_count; ++i)
    if (rt.plan.held[i] == thread->op.site) return true;
  return false;
}

/* Another thread is to come to what it does first. */
static bool is_delayed(const struct rt_thread* thread) {
  return rt.plan.delayed == thread->index + 1 && !awaited_came;
}

static void note_awaited(const struct rt_thread* self) {
  if (RT_LIKELY(rt.plan.delayed == 0) || self->index != rt.plan.awaited) return;
  const bool reads = self->op.kind == HEDDLE_EVENT_read ||
                     (self->op.kind == HEDDLE_EVENT_call && self->op.order == HEDDLE_CALL_reads);
  if ((uint64_t)(uintptr_t)self->op.object == rt.plan.awaited_address && rt.events > rt.plan.awaited_behind &&
      !(reads && rt.plan.awaited_writes))
    awaited_came = true;
}

static bool holds_back(const struct rt_thread* thread) {
  return is_held(thread) || is_delayed(thread);
}

static bool ends_process(const struct rt_thread* thread) {
  return thread->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_process_exit;
}

static struct rt_action nonpreemptive(const struct rt_thread* self, const struct rt_action* actions,
                                      uint32_t runs, uint32_t count) {
  if (runs == 0) return actions[0];
  const bool holds = rt.plan.held_count != 0 || rt.plan.delayed != 0;
  bool all_held = holds; /* then they take turns */
  for (uint32_t i = 0; i < runs && all_held; ++i) all_held = holds_back(actions[i].thread);
  const struct rt_action* behind = NULL;
  const struct rt_action* first = NULL;
  const struct rt_action* preempted = NULL;
  const struct rt_action* last = NULL; /* of all: it ends the process */
  for (uint32_t i = 0; i < runs; ++i) {
    const struct rt_thread* thread = actions[i].thread;
    if (!all_held && holds && holds_back(thread)) continue;
    if (thread == self && !gives_way(thread) && !has_had_its_turn() && !all_held) {
      if (rt.plan.successor != HEDDLE_SUCCESSOR_preempted || !ends_process(thread)) return actions[i];
      last = &actions[i];
    }
    if (thread == self || !goes_on(thread)) continue;
    if (thread->preempted_at != 0 &&
        (preempted == NULL || thread->preempted_at > preempted->thread->preempted_at))
      preempted = &actions[i];
    if (rt.plan.successor == HEDDLE_SUCCESSOR_younger) {
      first = &actions[i];
      if (thread->index < self->index) behind = &actions[i];
      continue;
    }
    if (first == NULL) first = &actions[i];
    if (behind == NULL && thread->index > self->index) behind = &actions[i];
  }
  if (preempted != NULL && rt.plan.successor == HEDDLE_SUCCESSOR_preempted) return *preempted;
  if (last != NULL) return *last;
  if (behind != NULL) return *behind;
  if (first != NULL) return *first;
  /* Libraries look again and again for a while before they wait: not yet in favour of those that are held back.
   */
  for (uint32_t i = 0; i < runs && holds && !all_held && in_vain != 0; ++i)
    if (!holds_back(actions[i].thread) && actions[i].thread->idle < OFTEN) {
      --in_vain;
      return actions[i];
    }
  /* All spin: a buffered store may be what they wait for; otherwise they take turns. */
  if (count > runs && actions[runs].kind == HEDDLE_STEP_flush) return actions[runs];
  for (uint32_t i = 0; i < runs; ++i)
    if (actions[i].thread->index > self->index) return actions[i];
  return actions[0];
}

static struct rt_action random_walk(const struct rt_action* actions, uint32_t count) {
  uint32_t preferred = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (actions[i].kind != HEDDLE_STEP_run || !gives_way(actions[i].thread)) ++preferred;
  if (preferred == 0 || preferred == count || rt_random_below(16) == 0) return actions[rt_random_below(count)];
  uint64_t skip = rt_random_below(preferred);
  for (uint32_t i = 0;; ++i) {
    if (actions[i].kind == HEDDLE_STEP_run && gives_way(actions[i].thread)) continue;
    if (skip-- == 0) return actions[i];
  }
}

static uint64_t priority_of(const struct rt_action* action) {
  if (action->kind != HEDDLE_STEP_flush) return action->thread->priority;
  const bool apart = rt.plan.strategy == HEDDLE_STRATEGY_pos || rt.plan.memory_model == HEDDLE_MODEL_pso;
  return apart ? action->store->priority : action->thread->flush_priority;
}

static struct rt_action highest(const struct rt_action* actions, uint32_t count) {
  const struct rt_action* best = &actions[0];
  for (uint32_t i = 1; i < count; ++i)
    if (priority_of(&actions[i]) > priority_of(best)) best = &actions[i];
  return *best;
}

static struct rt_action by_priority(struct rt_thread* self, const struct rt_action* actions, uint32_t count) {
  if (self->state == RT_ALIVE && (gives_way(self) || has_had_its_turn())) self->priority = lowest--;
  if (rt.plan.strategy == HEDDLE_STRATEGY_hold && self->state == RT_ALIVE && !self->held) {
    self->held = is_held_place(self->op.site);
    if (self->held) self->priority = lowest--;
    /* Drawn anew for each step: a random walk of those who are above the held ones. */
    else if (held_walk && self->priority >= LOW_PRIORITIES)
      self->priority = high_priority();
  }
  return highest(actions, count);
}

/* Of a test harness (harness.c): both answers are as likely. */
static bool is_choice(const struct rt_action* action) {
  return action->kind == HEDDLE_STEP_timeout &&
         action->thread->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_attribute;
}

/* Who is to come to something first, and waits for the thread that is delayed for it, comes by the end of its
 * time. */
static const struct rt_action* end_of_awaited(const struct rt_action* actions, uint32_t runs, uint32_t count) {
  if (RT_LIKELY(rt.plan.delayed == 0) || awaited_came) return NULL;
  for (uint32_t i = 0; i < runs; ++i)
    if (!is_delayed(actions[i].thread)) return NULL;
  for (uint32_t i = runs; i < count; ++i)
    if (actions[i].kind == HEDDLE_STEP_timeout && actions[i].thread->index == rt.plan.awaited)
      return &actions[i];
  return NULL;
}

struct rt_action rt_strategy_choose(struct rt_thread* self, const struct rt_action* actions, uint32_t count) {
  uint32_t runs = 0, usual = 0; /* usual: without ends of waits */
  while (runs < count && actions[runs].kind == HEDDLE_STEP_run) ++runs;
  for (usual = runs; usual < count && actions[usual].kind == HEDDLE_STEP_flush; ++usual) {
  }
  if (rt.plan.strategy == HEDDLE_STRATEGY_nonpreemptive) {
    const struct rt_action* end = end_of_awaited(actions, runs, count);
    return end != NULL ? *end : nonpreemptive(self, actions, runs, usual);
  }
  if (usual < count && rt_random_below(is_choice(&actions[usual]) ? 2 : EARLY_TIMEOUT) == 0)
    return actions[usual + rt_random_below(count - usual)];
  if (usual == 1) return actions[0];
  if (rt.plan.strategy == HEDDLE_STRATEGY_random || rt.events > 20 * expected + 20000)
    return random_walk(actions, usual);
  return by_priority(self, actions, usual);
}

/* Do two pending operations race? Then the order of the second one is drawn anew (POS). */
static bool races(const struct rt_op* a, const struct rt_op* b) {
  if (a->kind == HEDDLE_EVENT_read && b->kind == HEDDLE_EVENT_read) return false;
  const uint64_t first = (uint64_t)(uintptr_t)a->object, second = (uint64_t)(uintptr_t)b->object;
  return first < second + (b->size | 1) && second < first + (a->size | 1);
}

void rt_strategy_performed(struct rt_thread* self) {
  note_awaited(self);
  if (rt.following) return;
  for (uint32_t i = 0; i < change_count; ++i)
    if (change_points[i] == rt.events) self->priority = LOW_PRIORITIES - 1 - i;
  if (self->held) {
    self->held = false;
    self->priority = high_priority();
  }
  if (rt.plan.strategy != HEDDLE_STRATEGY_pos) return;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread != self && races(&self->op, &thread->op)) thread->priority = high_priority();
  }
  self->priority = high_priority();
}
