/* Read-write locks.
 *
 *   __readers     readers that hold it
 *   __cur_writer  the writer that holds it
 *   __writers     writers that wait, of a lock that prefers writers
 *   __pad3        the reader that took it last, for messages
 *   __flags       preference, where the static initialisers put it
 *
 * As in glibc, only PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP makes a difference: readers wait while writers
 * wait. A writer of such a lock asks for it in one event and, if it did not get it then, takes it in a second
 * one. With other locks it cannot be seen whether a writer has begun to wait, so that taking the lock is one
 * event.
 */
#include <errno.h>
#include <string.h>

#include "runtime/control/sync.h"

enum { MAX_READERS = (1 << 28) - 1 };

static bool prefers_writers(const pthread_rwlock_t* l) {
  return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static bool readable(const pthread_rwlock_t* l) {
  return l->__data.__cur_writer == 0 && (!prefers_writers(l) || l->__data.__writers == 0);
}

static bool writable(const pthread_rwlock_t* l) {
  return l->__data.__cur_writer == 0 && l->__data.__readers == 0;
}

static bool writes(const pthread_rwlock_t* l, const struct rt_thread* self) {
  return l->__data.__cur_writer == (int)rt_owner(self);
}

struct rt_thread* rt_rwlock_holder(const void* rwlock) {
  const pthread_rwlock_t* l = rwlock;
  if (l->__data.__cur_writer != 0) return rt_owning_thread((uint32_t)l->__data.__cur_writer);
  return l->__data.__readers != 0 ? rt_owning_thread(l->__data.__pad3) : NULL;
}

int pthread_rwlock_init(pthread_rwlock_t* l, const pthread_rwlockattr_t* attributes) {
  int preference = PTHREAD_RWLOCK_DEFAULT_NP, shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes != NULL) {
    pthread_rwlockattr_getkind_np(attributes, &preference);
    pthread_rwlockattr_getpshared(attributes, &shared);
  }
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_rwlock_init, l);
  rt_go(self);
  memset(l, 0, sizeof *l);
  l->__data.__flags = (unsigned)preference;
  l->__data.__shared = shared == PTHREAD_PROCESS_SHARED;
  return rt_done(self, 0);
}

int pthread_rwlock_destroy(pthread_rwlock_t* l) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_rwlock_destroy, l);
  rt_go(self);
  return rt_done(self, 0);
}

/* ---- reading */
static int take_for_reading(pthread_rwlock_t* l, struct rt_thread* self) {
  if (l->__data.__readers == MAX_READERS) return rt_refused(self, EAGAIN);
  ++l->__data.__readers;
  l->__data.__pad3 = rt_owner(self);
  return rt_done(self, 0);
}

static bool read_ready(const struct rt_thread* self) {
  const pthread_rwlock_t* l = self->op.object;
  return self->timed_out || readable(l) || writes(l, self);
}

static int read_lock(pthread_rwlock_t* l, clockid_t clock, const struct timespec* time) {
  struct rt_thread* self =
      rt_begin(time != NULL ? HEDDLE_SYNC_rwlock_timedrdlock : HEDDLE_SYNC_rwlock_rdlock, l);
  if (self != NULL) self->op.ready = read_ready;
  rt_until(self, clock, time);
  rt_go(self);
  if (self != NULL && self->timed_out) return rt_done(self, ETIMEDOUT);
  if (writes(l, self)) return rt_refused(self, EDEADLK);
  if (!readable(l)) rt_stuck("pthread_rwlock_rdlock");
  return take_for_reading(l, self);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  return read_lock(l, CLOCK_REALTIME, NULL);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const struct timespec* time) {
  if (!rt_waitable_clock(clock) || !rt_valid_timespec(time)) return EINVAL;
  return read_lock(l, clock, time);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const struct timespec* time) {
  return pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, time);
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_rwlock_tryrdlock, l);
  rt_go(self);
  return readable(l) ? take_for_reading(l, self) : rt_refused(self, EBUSY);
}

/* ---- writing */
static int take_for_writing(pthread_rwlock_t* l, struct rt_thread* self) {
  l->__data.__cur_writer = (int)rt_owner(self);
  return rt_done(self, 0);
}

static bool write_ready(const struct rt_thread* self) {
  const pthread_rwlock_t* l = self->op.object;
  return self->timed_out || writable(l) || writes(l, self);
}

static struct rt_thread* begin_writing(enum heddle_sync_kind kind, pthread_rwlock_t* l, clockid_t clock,
                                       const struct timespec* time) {
  struct rt_thread* self = rt_begin(kind, l);
  if (self != NULL) self->op.ready = write_ready;
  rt_until(self, clock, time);
  return self;
}

static int write_lock(pthread_rwlock_t* l, clockid_t clock, const struct timespec* time) {
  const enum heddle_sync_kind kind = time != NULL ? HEDDLE_SYNC_rwlock_timedwrlock : HEDDLE_SYNC_rwlock_wrlock;
  struct rt_thread* self;
  if (rt.active && prefers_writers(l)) {
    self = rt_sync(kind, l);
    rt_go(self);
    if (writable(l)) return take_for_writing(l, self);
    if (writes(l, self)) return rt_refused(self, EDEADLK);
    ++l->__data.__writers;
    rt_result(self, EBUSY); /* of this event only */
    begin_writing(kind, l, clock, time);
    rt_go(self);
    --l->__data.__writers;
  } else {
    self = begin_writing(kind, l, clock, time);
    rt_go(self);
  }
  if (self != NULL && self->timed_out) return rt_done(self, ETIMEDOUT);
  if (writes(l, self)) return rt_refused(self, EDEADLK);
  if (!writable(l)) rt_stuck("pthread_rwlock_wrlock");
  return take_for_writing(l, self);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  return write_lock(l, CLOCK_REALTIME, NULL);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const struct timespec* time) {
  if (!rt_waitable_clock(clock) || !rt_valid_timespec(time)) return EINVAL;
  return write_lock(l, clock, time);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const struct timespec* time) {
  return pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, time);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_rwlock_trywrlock, l);
  rt_go(self);
  return writable(l) ? take_for_writing(l, self) : rt_refused(self, EBUSY);
}

/* Never fails in glibc. Who unlocks what it does not hold takes it from a reader, else from the writer. */
int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_rwlock_unlock, l);
  rt_go(self);
  if (l->__data.__readers > 0)
    --l->__data.__readers;
  else
    l->__data.__cur_writer = 0;
  return rt_done(self, 0);
}
