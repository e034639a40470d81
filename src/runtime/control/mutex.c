/* Mutexes, in glibc's layout and with glibc's answers for every type, robust ones included.
 *
 *   __lock    low bits: the owner; high bits: priority ceiling, where glibc's pthread_mutex_getprioceiling()
 * reads it
 *   __owner   the owner too, or what became of a robust mutex whose owner ended
 *   __count   levels of a recursive mutex
 *   __nusers  what pthread_mutex_destroy() looks at; it goes wrong as glibc's does when a free mutex is
 * unlocked
 *   __kind    type and flags; -1 after pthread_mutex_destroy()
 *
 * Priorities mean nothing under control: protocols and ceilings are remembered, no more. Locking a normal mutex
 * twice waits for ever, which the scheduler reports.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "abi/event_part.h"
#include "runtime/control/sync.h"

enum {
  TYPE_MASK = 3,
  ROBUST = 16,
  INHERIT = 32,
  PROTECT = 64,
  SHARED = 128,
  KNOWN = TYPE_MASK | ROBUST | INHERIT | PROTECT | SHARED | 256 |
          512, /* 256, 512: lock elision, of no matter here */
  OWNER_MASK = (1 << 19) - 1,
  CEILING_SHIFT = 19,
  INCONSISTENT = INT_MAX, /* in __owner */
  NOT_RECOVERABLE = INT_MAX - 1,
};

static uint32_t holder_of(const pthread_mutex_t* m) {
  return (uint32_t)m->__data.__lock & OWNER_MASK;
}

static void set_holder(pthread_mutex_t* m, uint32_t owner) {
  m->__data.__lock = (int)(((uint32_t)m->__data.__lock & ~(uint32_t)OWNER_MASK) | owner);
}

static int type_of(const pthread_mutex_t* m) {
  return m->__data.__kind & TYPE_MASK;
}

static bool is_valid(const pthread_mutex_t* m) {
  return (m->__data.__kind & ~KNOWN) == 0;
}

static bool owner_died(const pthread_mutex_t* m) {
  const struct rt_thread* holder = rt_owning_thread(holder_of(m));
  return (m->__data.__kind & ROBUST) != 0 && holder != NULL && holder->state == RT_FINISHED;
}

bool rt_mutex_claimable(const pthread_mutex_t* m, uint32_t owner) {
  const uint32_t holder = holder_of(m);
  if (!is_valid(m) || holder == 0 || owner_died(m)) return true;
  return holder == owner && (type_of(m) == PTHREAD_MUTEX_RECURSIVE || type_of(m) == PTHREAD_MUTEX_ERRORCHECK);
}

static int claim_again(pthread_mutex_t* m, enum rt_mutex_use use) {
  if (type_of(m) == PTHREAD_MUTEX_RECURSIVE) {
    if (m->__data.__count == UINT_MAX) return EAGAIN;
    ++m->__data.__count;
    return 0;
  }
  if (type_of(m) != PTHREAD_MUTEX_ERRORCHECK) return EBUSY;
  const bool tells = use != RT_MUTEX_TRY || (m->__data.__kind & (ROBUST | INHERIT | PROTECT)) != 0;
  return tells ? EDEADLK : EBUSY;
}

int rt_mutex_claim(pthread_mutex_t* m, uint32_t owner, enum rt_mutex_use use) {
  if (!is_valid(m)) return EINVAL;
  if (owner_died(m)) {
    set_holder(m, owner);
    m->__data.__count = 1;
    m->__data.__owner = INCONSISTENT;
    return EOWNERDEAD;
  }
  const uint32_t holder = holder_of(m);
  if (holder == owner) return claim_again(m, use);
  if (holder != 0) return EBUSY;
  if (m->__data.__owner == NOT_RECOVERABLE) return ENOTRECOVERABLE;
  set_holder(m, owner);
  m->__data.__count = 1;
  m->__data.__owner = (int)owner;
  if (use != RT_MUTEX_AFTER_WAIT) ++m->__data.__nusers;
  return 0;
}

int rt_mutex_release(pthread_mutex_t* m, uint32_t owner, bool for_wait) {
  if (!is_valid(m)) return EINVAL;
  const int type = type_of(m);
  const bool checked = type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK ||
                       (m->__data.__kind & (ROBUST | INHERIT)) != 0;
  if (checked && holder_of(m) != owner) return EPERM;
  const bool inconsistent = m->__data.__owner == INCONSISTENT;
  if (type == PTHREAD_MUTEX_RECURSIVE && --m->__data.__count != 0) return inconsistent ? ENOTRECOVERABLE : 0;
  m->__data.__owner = inconsistent ? NOT_RECOVERABLE : 0;
  set_holder(m, 0);
  if (!for_wait) --m->__data.__nusers;
  return 0;
}

bool rt_mutex_lost(const void* mutex) {
  const pthread_mutex_t* m = mutex;
  return is_valid(m) && (m->__data.__kind & ROBUST) != 0 && m->__data.__owner == NOT_RECOVERABLE;
}

struct rt_thread* rt_mutex_holder(const void* mutex) {
  return rt_owning_thread(holder_of(mutex));
}

int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) {
  int type = PTHREAD_MUTEX_DEFAULT, robust = PTHREAD_MUTEX_STALLED, protocol = PTHREAD_PRIO_NONE,
      shared = PTHREAD_PROCESS_PRIVATE, ceiling = 0;
  if (attributes != NULL) {
    pthread_mutexattr_gettype(attributes, &type);
    pthread_mutexattr_getrobust(attributes, &robust);
    pthread_mutexattr_getprotocol(attributes, &protocol);
    pthread_mutexattr_getpshared(attributes, &shared);
    if (protocol == PTHREAD_PRIO_PROTECT) pthread_mutexattr_getprioceiling(attributes, &ceiling);
    if (protocol == PTHREAD_PRIO_PROTECT && robust == PTHREAD_MUTEX_ROBUST) return ENOTSUP;
  }
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_mutex_init, m);
  rt_go(self);
  memset(m, 0, sizeof *m);
  m->__data.__kind =
      type | (robust == PTHREAD_MUTEX_ROBUST ? ROBUST : 0) | (protocol == PTHREAD_PRIO_INHERIT ? INHERIT : 0) |
      (protocol == PTHREAD_PRIO_PROTECT ? PROTECT : 0) | (shared == PTHREAD_PROCESS_SHARED ? SHARED : 0);
  m->__data.__lock = ceiling << CEILING_SHIFT;
  return rt_done(self, 0);
}

int pthread_mutex_destroy(pthread_mutex_t* m) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_mutex_destroy, m);
  rt_go(self);
  if ((m->__data.__kind & ROBUST) == 0 && m->__data.__nusers != 0) return rt_refused(self, EBUSY);
  m->__data.__kind = -1;
  return rt_done(self, 0);
}

static struct rt_thread* begin(enum heddle_sync_kind kind, const pthread_mutex_t* m) {
  struct rt_thread* self = rt_begin(kind, m);
  if (self != NULL && is_valid(m) && (m->__data.__kind & ROBUST) != 0) self->op.size = HEDDLE_PART_robust;
  return self;
}

static bool lock_ready(const struct rt_thread* self) {
  return self->timed_out || rt_mutex_claimable(self->op.object, rt_owner(self));
}

int pthread_mutex_lock(pthread_mutex_t* m) {
  struct rt_thread* self = begin(HEDDLE_SYNC_mutex_lock, m);
  if (self != NULL) self->op.ready = lock_ready;
  rt_go(self);
  const int result = rt_mutex_claim(m, rt_owner(self), RT_MUTEX_LOCK);
  if (result == EBUSY) rt_stuck("pthread_mutex_lock");
  return rt_done(self, result);
}

int pthread_mutex_trylock(pthread_mutex_t* m) {
  struct rt_thread* self = begin(HEDDLE_SYNC_mutex_trylock, m);
  rt_go(self);
  const int result = rt_mutex_claim(m, rt_owner(self), RT_MUTEX_TRY);
  return result == 0 || result == EOWNERDEAD ? rt_done(self, result) : rt_refused(self, result);
}

int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const struct timespec* time) {
  if (!rt_waitable_clock(clock)) return EINVAL;
  /* Looked at only when the mutex is not free. Mostly, a time before the epoch is over whatever its
   * nanoseconds. */
  const bool valid = rt_valid_timespec(time) || (time->tv_sec < 0 && (m->__data.__kind & ROBUST) == 0);
  struct rt_thread* self = begin(HEDDLE_SYNC_mutex_timedlock, m);
  if (self != NULL && valid) {
    self->op.ready = lock_ready;
    rt_until(self, clock, time);
  }
  rt_go(self);
  if (self != NULL && self->timed_out) return rt_done(self, ETIMEDOUT);
  const int result = rt_mutex_claim(m, rt_owner(self), RT_MUTEX_LOCK);
  if (result != EBUSY) return rt_done(self, result);
  return rt_refused(self, valid ? ETIMEDOUT : EINVAL);
}

int pthread_mutex_timedlock(pthread_mutex_t* m, const struct timespec* time) {
  return pthread_mutex_clocklock(m, CLOCK_REALTIME, time);
}

int pthread_mutex_unlock(pthread_mutex_t* m) {
  struct rt_thread* self = begin(HEDDLE_SYNC_mutex_unlock, m);
  rt_go(self);
  const int result = rt_mutex_release(m, rt_owner(self), false);
  return result != EPERM && result != EINVAL ? rt_done(self, result) : rt_refused(self, result);
}

/* Only for who holds the mutex, so nobody else can see it happen: no decision point. */
int pthread_mutex_consistent(pthread_mutex_t* m) {
  if ((m->__data.__kind & ROBUST) == 0 || m->__data.__owner != INCONSISTENT) return EINVAL;
  m->__data.__owner = (int)holder_of(m);
  return 0;
}

int pthread_mutex_setprioceiling(pthread_mutex_t* m, int ceiling, int* old) {
  if ((m->__data.__kind & PROTECT) == 0 || ceiling < 1 || ceiling > 99) return EINVAL;
  const int result = pthread_mutex_lock(m);
  if (result != 0) return result;
  *old = (int)((uint32_t)m->__data.__lock >> CEILING_SHIFT);
  m->__data.__lock = (int)(((uint32_t)ceiling << CEILING_SHIFT) | holder_of(m));
  return pthread_mutex_unlock(m);
}
