/* Semaphores: the value is the first 32 bits of the object, as in glibc, so that those of sem_open() work too.
 */
#include <semaphore.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "runtime/control/sync.h"

static uint32_t* value_of(sem_t* s) {
  return (uint32_t*)(void*)s;
}

static int failed(struct rt_thread* self, int error) {
  errno = error;
  return rt_refused(self, -1);
}

int sem_init(sem_t* s, int shared, unsigned value) {
  (void)shared;
  if (value > SEM_VALUE_MAX) {
    errno = EINVAL;
    return -1;
  }
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_sem_init, s);
  rt_go(self);
  memset(s, 0, sizeof *s);
  *value_of(s) = value;
  return rt_done(self, 0);
}

int sem_destroy(sem_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_sem_destroy, s);
  rt_go(self);
  return rt_done(self, 0);
}

static bool wait_ready(const struct rt_thread* self) {
  return self->timed_out || rt_cancel_pending(self) || *(const uint32_t*)self->op.object > 0;
}

static int wait(sem_t* s, clockid_t clock, const struct timespec* time) {
  if (rt.active) rt_cancellation_point(rt.current);
  struct rt_thread* self = rt_begin(time != NULL ? HEDDLE_SYNC_sem_timedwait : HEDDLE_SYNC_sem_wait, s);
  if (self != NULL) self->op.ready = wait_ready;
  rt_until(self, clock, time);
  rt_go(self);
  if (self != NULL && rt_cancel_pending(self)) {
    rt_refused(self, -1);
    rt_cancellation_point(self);
  }
  if (self != NULL && self->timed_out) {
    errno = ETIMEDOUT;
    return rt_done(self, -1);
  }
  if (*value_of(s) == 0) rt_stuck("a semaphore");
  --*value_of(s);
  return rt_done(self, 0);
}

int sem_wait(sem_t* s) {
  return wait(s, CLOCK_REALTIME, NULL);
}

int sem_clockwait(sem_t* s, clockid_t clock, const struct timespec* time) {
  if (!rt_waitable_clock(clock) || !rt_valid_timespec(time)) {
    errno = EINVAL;
    return -1;
  }
  return wait(s, clock, time);
}

int sem_timedwait(sem_t* s, const struct timespec* time) {
  return sem_clockwait(s, CLOCK_REALTIME, time);
}

int sem_trywait(sem_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_sem_trywait, s);
  rt_go(self);
  if (*value_of(s) == 0) return failed(self, EAGAIN);
  --*value_of(s);
  return rt_done(self, 0);
}

int sem_post(sem_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_sem_post, s);
  rt_go(self);
  if (*value_of(s) == SEM_VALUE_MAX) return failed(self, EOVERFLOW);
  ++*value_of(s);
  return rt_done(self, 0);
}

int sem_getvalue(sem_t* s, int* value) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_sem_getvalue, s);
  rt_go(self);
  *value = (int)*value_of(s);
  rt_refused(self, *value);
  return 0;
}
