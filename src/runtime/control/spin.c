/* Spin locks: 1 is free, as in glibc on this processor; -(thread index + 1) is held by that thread; 0, which is
 * what memory holds that nobody initialised, is held by nobody and never becomes free.
 */
#include <errno.h>

#include "runtime/control/sync.h"

enum { FREE = 1 };

struct rt_thread* rt_spin_holder(const void* spin) {
  const int value = *(const volatile int*)spin;
  return value < 0 ? rt_owning_thread((uint32_t)-value) : NULL;
}

int pthread_spin_init(pthread_spinlock_t* s, int shared) {
  (void)shared;
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_spin_init, (const void*)s);
  rt_go(self);
  *s = FREE;
  return rt_done(self, 0);
}

int pthread_spin_destroy(pthread_spinlock_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_spin_destroy, (const void*)s);
  rt_go(self);
  return rt_done(self, 0);
}

static bool lock_ready(const struct rt_thread* self) {
  return *(const volatile int*)self->op.object > 0;
}

static int take(pthread_spinlock_t* s, struct rt_thread* self) {
  *s = -(int)rt_owner(self);
  return rt_done(self, 0);
}

int pthread_spin_lock(pthread_spinlock_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_spin_lock, (const void*)s);
  if (self != NULL) self->op.ready = lock_ready;
  rt_go(self);
  if (*s <= 0) rt_stuck("pthread_spin_lock");
  return take(s, self);
}

int pthread_spin_trylock(pthread_spinlock_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_spin_trylock, (const void*)s);
  rt_go(self);
  return *s > 0 ? take(s, self) : rt_refused(self, EBUSY);
}

int pthread_spin_unlock(pthread_spinlock_t* s) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_spin_unlock, (const void*)s);
  rt_go(self);
  *s = FREE;
  return rt_done(self, 0);
}
