/* Sleeping and yielding.
 *
 * A sleep is two events: going to sleep, after which others are preferred, and waking up, which waits until the
 * scheduler lets its time come (virtual time: clock.c). A signal ends it early.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define SECOND 1000000000ull

static bool may_wake(const struct rt_thread* thread) {
  return thread->timed_out || rt_signal_pending(thread) || rt_cancel_pending(thread);
}

/* Returns the nanoseconds that are left: 0 unless a signal came. */
static uint64_t sleep_until(uint64_t deadline) {
  if (!rt.active) {
    rt_advance_clock(deadline);
    return 0;
  }
  struct rt_thread* self = rt.current;
  rt_cancellation_point(self);
  self = rt_sync(HEDDLE_SYNC_sleep, NULL);
  rt_perform(self);
  rt_yielded(self);
  self = rt_sync(HEDDLE_SYNC_sleep, NULL);
  self->op.timed = true;
  self->op.deadline = deadline;
  self->op.ready = may_wake;
  self->slept_from = rt.events;
  rt_perform(self);
  rt_yielded(self);
  rt_cancellation_point(self);
  const uint64_t now = rt_clock(CLOCK_MONOTONIC);
  const uint64_t left = self->timed_out || now >= deadline ? 0 : deadline - now;
  rt_result(self, left != 0);
  return left;
}

static uint64_t sleep_for(uint64_t nanoseconds) {
  uint64_t deadline;
  if (__builtin_add_overflow(rt_clock(CLOCK_MONOTONIC), nanoseconds, &deadline)) deadline = UINT64_MAX;
  return sleep_until(deadline);
}

/* As clock_nanosleep: an error number. */
static int sleep_as_told(clockid_t clock, int flags, const struct timespec* request, struct timespec* left) {
  if (!rt_valid_timespec(request) || request->tv_sec < 0) return EINVAL;
  if ((flags & TIMER_ABSTIME) != 0) return sleep_until(rt_deadline(clock, request)) == 0 ? 0 : EINTR;
  uint64_t nanoseconds;
  if (__builtin_mul_overflow((uint64_t)request->tv_sec, SECOND, &nanoseconds) ||
      __builtin_add_overflow(nanoseconds, (uint64_t)request->tv_nsec, &nanoseconds))
    nanoseconds = UINT64_MAX;
  const uint64_t rest = sleep_for(nanoseconds);
  if (rest == 0) return 0;
  if (left != NULL)
    *left = (struct timespec){.tv_sec = (time_t)(rest / SECOND), .tv_nsec = (long)(rest % SECOND)};
  return EINTR;
}

int nanosleep(const struct timespec* request, struct timespec* left) {
  const int error = sleep_as_told(CLOCK_MONOTONIC, 0, request, left);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* request, struct timespec* left) {
  if (clock == CLOCK_THREAD_CPUTIME_ID || clock > CLOCK_TAI) return EINVAL;
  return sleep_as_told(clock, flags, request, left);
}

int thrd_sleep(const struct timespec* request, struct timespec* left) {
  const int error = sleep_as_told(CLOCK_MONOTONIC, 0, request, left);
  return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

unsigned sleep(unsigned seconds) {
  return (unsigned)((sleep_for(seconds * SECOND) + SECOND - 1) / SECOND);
}

int usleep(useconds_t microseconds) {
  if (sleep_for(microseconds * 1000ull) == 0) return 0;
  errno = EINTR;
  return -1;
}

/* ---- yielding */
int sched_yield(void) {
  if (!rt.active) return 0;
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_yield, NULL);
  rt_perform(self);
  rt_yielded(self);
  return rt_result(self, 0);
}

void thrd_yield(void) {
  sched_yield();
}
