/* Condition variables. Which waiters a signal may wake: waiters.h.
 *
 * A wait is two events: the first releases the mutex and makes the thread a waiter, the second takes the mutex
 * again. Of the object itself only glibc's flag for the clock is used: who waits is known from the threads.
 */
#include <errno.h>
#include <string.h>

#include "runtime/control/sync.h"
#include "runtime/control/waiters.h"

enum { MONOTONIC_FLAG = 2 }; /* in __wrefs */

int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  if (attributes != NULL) pthread_condattr_getclock(attributes, &clock);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_cond_init, c);
  rt_go(self);
  memset(c, 0, sizeof *c);
  if (clock == CLOCK_MONOTONIC) c->__data.__wrefs = MONOTONIC_FLAG;
  return rt_done(self, 0);
}

/* As glibc's, it waits until nobody waits any more; those that were woken need only their mutex. */
static bool destroy_ready(const struct rt_thread* self) {
  return rt_oldest_waiter(self->op.object, NULL) == NULL;
}

int pthread_cond_destroy(pthread_cond_t* c) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_cond_destroy, c);
  if (self != NULL) self->op.ready = destroy_ready;
  rt_go(self);
  return rt_done(self, 0);
}

static int wake(pthread_cond_t* c, enum heddle_sync_kind kind, uint64_t count) {
  struct rt_thread* self = rt_begin(kind, c);
  if (self == NULL) return 0;
  rt_go(self);
  rt_wake(c, count);
  return rt_result(self, 0);
}

int pthread_cond_signal(pthread_cond_t* c) {
  return wake(c, HEDDLE_SYNC_cond_signal, 1);
}

int pthread_cond_broadcast(pthread_cond_t* c) {
  return wake(c, HEDDLE_SYNC_cond_broadcast, UINT64_MAX);
}

static bool wait_ready(const struct rt_thread* self) {
  return rt_is_awake(self) && rt_mutex_claimable(self->op.second, rt_owner(self));
}

/* `time` null: without end. */
static int wait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const struct timespec* time) {
  if (!rt.active) rt_stuck("a condition variable");
  const enum heddle_sync_kind kind = time != NULL ? HEDDLE_SYNC_cond_timedwait : HEDDLE_SYNC_cond_wait;
  rt_cancellation_point(rt.current);
  struct rt_thread* self = rt_sync(kind, c);
  self->op.second = m;
  rt_go(self);
  int result = rt_mutex_release(m, rt_owner(self), true);
  if (result != 0) return rt_refused(self, result);
  rt_start_waiting(self);
  rt_result(self, 0);

  rt_sync(kind, c);
  self->op.second = m;
  self->op.ready = wait_ready;
  self->op.spurious = true;
  rt_until(self, clock, time);
  rt_perform(self); /* the condition variable may have been destroyed */
  rt_heap_check(m, sizeof(int), self->op.site);
  const bool timed_out = self->timed_out;
  const bool signalled = rt_stop_waiting(self);
  result = rt_mutex_claim(m, rt_owner(self), RT_MUTEX_AFTER_WAIT);
  if (result == 0 && timed_out && !signalled) result = ETIMEDOUT;
  rt_result(self, result);
  if (!signalled) rt_cancellation_point(self);
  return result;
}

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  return wait(c, m, CLOCK_REALTIME, NULL);
}

int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                           const struct timespec* time) {
  if (!rt_valid_timespec(time) || !rt_waitable_clock(clock)) return EINVAL;
  return wait(c, m, clock, time);
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* time) {
  const clockid_t clock = (c->__data.__wrefs & MONOTONIC_FLAG) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return pthread_cond_clockwait(c, m, clock, time);
}
