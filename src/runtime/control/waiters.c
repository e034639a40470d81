/* Who may go on after a wake-up: see waiters.h. There are few waiters at a time, so they are found by looking
 * at all threads. */
#include "runtime/control/waiters.h"

/* Only their order matters, so they go on counting from execution to execution. */
RT_STATE static uint64_t last_ticket;

/* Waiting in a futex is no cancellation point. */
static bool on_its_way_out(const struct rt_thread* waiter) {
  if (waiter->timed_out || waiter->woken) return true;
  return waiter->op.kind != HEDDLE_EVENT_sync + HEDDLE_SYNC_futex && rt_cancel_pending(waiter);
}

/* The waiters that were not woken for sure, from the oldest to the youngest. */
static struct rt_thread* next_unsure(const void* object, const struct rt_thread* after) {
  struct rt_thread* found = NULL;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread->ticket == 0 || thread->op.object != object || thread->signalled) continue;
    if (after != NULL && thread->ticket <= after->ticket) continue;
    if (found == NULL || thread->ticket < found->ticket) found = thread;
  }
  return found;
}

void rt_start_waiting(struct rt_thread* self) {
  self->ticket = ++last_ticket;
  self->tokens = 0;
  self->timed_out = self->woken = self->signalled = false;
}

void rt_wake_this(struct rt_thread* waiter) {
  waiter->signalled = true;
  waiter->tokens = 0;
  waiter->op.timed = waiter->op.spurious = false; /* it was woken before its time was over */
}

/* The youngest that is not younger than the given one. */
static struct rt_thread* last_unsure(const struct rt_thread* limit) {
  struct rt_thread* found = NULL;
  for (struct rt_thread* waiter = next_unsure(limit->op.object, NULL);
       waiter != NULL && waiter->ticket <= limit->ticket; waiter = next_unsure(limit->op.object, waiter))
    found = waiter;
  return found;
}

/* Behind `first` (null: from the start) up to `last` there are as many tokens as threads that wait: they are
 * woken. Tokens that are too many were meant for one on its way out. */
static void wake_between(const struct rt_thread* first, const struct rt_thread* last, uint64_t too_many) {
  for (struct rt_thread* waiter = next_unsure(last->op.object, first);
       waiter != NULL && waiter->ticket <= last->ticket; waiter = next_unsure(last->op.object, waiter)) {
    waiter->tokens = 0;
    if (!on_its_way_out(waiter)) rt_wake_this(waiter);
  }
  if (too_many > 0 && last_unsure(last) != NULL) last_unsure(last)->tokens += too_many;
}

static void wake_sure_ones(const void* object) {
  uint64_t present = 0, tokens = 0;
  const struct rt_thread* first = NULL;
  for (struct rt_thread* waiter = next_unsure(object, NULL); waiter != NULL;
       waiter = next_unsure(object, waiter)) {
    present += !on_its_way_out(waiter);
    tokens += waiter->tokens;
    if (tokens < present) continue;
    if (present > 0) wake_between(first, waiter, tokens - present); /* else its tokens are its own */
    present = tokens = 0;
    first = waiter;
  }
}

/* How many more there are to wake. */
static uint64_t room(const void* object) {
  uint64_t present = 0, tokens = 0;
  for (struct rt_thread* waiter = next_unsure(object, NULL); waiter != NULL;
       waiter = next_unsure(object, waiter)) {
    present += !on_its_way_out(waiter);
    tokens += waiter->tokens;
    if (tokens > present) tokens = present; /* the others are for those on their way out */
  }
  return present - tokens;
}

struct rt_thread* rt_oldest_waiter(const void* object, const struct rt_thread* after) {
  struct rt_thread* waiter = next_unsure(object, after);
  while (waiter != NULL && on_its_way_out(waiter)) waiter = next_unsure(object, waiter);
  return waiter;
}

uint64_t rt_wake(const void* object, uint64_t count) {
  const uint64_t most = room(object);
  if (count > most) count = most;
  if (count == 0) return 0;
  struct rt_thread* youngest = rt_oldest_waiter(object, NULL);
  for (struct rt_thread* next = youngest; next != NULL; next = rt_oldest_waiter(object, next)) youngest = next;
  youngest->tokens += count;
  wake_sure_ones(object);
  return count;
}

static struct rt_thread* nearest_token(const struct rt_thread* waiter) {
  struct rt_thread* found = NULL;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread->tokens == 0 || thread->op.object != waiter->op.object || thread->ticket < waiter->ticket)
      continue;
    if (found == NULL || thread->ticket < found->ticket) found = thread;
  }
  return found;
}

bool rt_is_awake(const struct rt_thread* waiter) {
  return waiter->signalled || on_its_way_out(waiter) || nearest_token(waiter) != NULL;
}

/* Are there so many tokens that all waiters are needed, those on their way out included? Then the thread was
 * woken before it was on its way. */
static bool is_needed(const struct rt_thread* self) {
  uint64_t waiters = 0, tokens = 0;
  for (struct rt_thread* waiter = next_unsure(self->op.object, NULL); waiter != NULL;
       waiter = next_unsure(self->op.object, waiter)) {
    ++waiters;
    tokens += waiter->tokens;
    if (waiter->ticket >= self->ticket && tokens >= waiters) return true;
  }
  return false;
}

bool rt_stop_waiting(struct rt_thread* self) {
  bool woken = self->signalled;
  if (!woken && (!on_its_way_out(self) || is_needed(self))) {
    struct rt_thread* at = nearest_token(self);
    RT_CHECK(at != NULL);
    --at->tokens;
    woken = true;
  }
  const uint64_t left = self->tokens;
  self->signalled = true; /* for now: no longer one of them */
  self->tokens = 0;
  if (left > 0 && last_unsure(self) != NULL) last_unsure(self)->tokens += left;
  wake_sure_ones(self->op.object);
  self->signalled = false;
  self->ticket = 0;
  return woken;
}

void rt_settle_wakes(const void* object) {
  uint64_t tokens = 0;
  for (struct rt_thread* waiter = next_unsure(object, NULL); waiter != NULL;
       waiter = next_unsure(object, waiter)) {
    tokens += waiter->tokens;
    waiter->tokens = 0;
  }
  struct rt_thread* waiter = rt_oldest_waiter(object, NULL);
  for (; tokens > 0 && waiter != NULL; --tokens) {
    struct rt_thread* next = rt_oldest_waiter(object, waiter);
    rt_wake_this(waiter);
    waiter = next;
  }
}

void rt_move_waiter(struct rt_thread* waiter, const void* object) {
  waiter->op.object = object;
  waiter->ticket = ++last_ticket;
}
