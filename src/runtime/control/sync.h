/* Shared by the synchronisation files (mutex.c, condition.c, rwlock.c, ...).
 *
 * Each function of theirs prepares an operation (rt_begin), performs it (rt_go) and then changes the object's
 * state, which lies in the object itself: see control.h. Before control starts there is one thread only, `self`
 * is null and everything happens at once; what would have to wait then would wait for ever (rt_stuck).
 */
#ifndef HEDDLE_RUNTIME_CONTROL_SYNC_H
#define HEDDLE_RUNTIME_CONTROL_SYNC_H

#include "runtime/control/control.h"

static inline struct rt_thread* rt_begin(enum heddle_sync_kind kind, const void* object) {
  return rt.active ? rt_sync(kind, object) : NULL;
}

/* The object is looked at or changed now: it must not have been freed. */
static inline void rt_go(struct rt_thread* self) {
  if (self == NULL) return;
  rt_perform(self);
  rt_heap_check(self->op.object, sizeof(int), self->op.site);
}

static inline int rt_done(struct rt_thread* self, int result) {
  return self != NULL ? rt_result(self, result) : result;
}

/* The operation failed and changed nothing. */
static inline int rt_refused(struct rt_thread* self, int result) {
  if (self != NULL) rt_unchanged(self);
  return rt_done(self, result);
}

static inline _Noreturn void rt_stuck(const char* what) {
  rt_unsupported("%s waits before main() for something that nobody can do", what);
}

/* Owners in objects are thread index + 1, so that 0 is nobody; the one thread before control is the main
 * thread. */
static inline uint32_t rt_owner(const struct rt_thread* self) {
  return self != NULL ? self->index + 1 : 1;
}

static inline struct rt_thread* rt_owning_thread(uint32_t owner) {
  return rt.threads != NULL && owner != 0 && owner <= rt.thread_count ? &rt.threads[owner - 1] : NULL;
}

/* Clocks that functions with a clock argument take (others: EINVAL). */
static inline bool rt_waitable_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline void rt_until(struct rt_thread* self, clockid_t clock, const struct timespec* time) {
  if (self == NULL || time == NULL) return;
  self->op.timed = true;
  self->op.deadline = rt_deadline(clock, time);
}

/* ---- mutex.c, for condition variables too, which leave the count of a mutex's users alone */
enum rt_mutex_use { RT_MUTEX_LOCK, RT_MUTEX_TRY, RT_MUTEX_AFTER_WAIT };
bool rt_mutex_claimable(const pthread_mutex_t* m,
                        uint32_t owner); /* would rt_mutex_claim give an answer now? */
int rt_mutex_claim(pthread_mutex_t* m, uint32_t owner, enum rt_mutex_use use); /* EBUSY: somebody else has it */
int rt_mutex_release(pthread_mutex_t* m, uint32_t owner, bool for_wait);

#endif
