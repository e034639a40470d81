/* Barriers. To pass one is two events, arriving and leaving; the last that arrives is the serial thread, as in
 * glibc, and goes on at once. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "runtime/control/sync.h"

struct barrier {
  uint32_t count;
  uint32_t arrived; /* of this round */
  uint32_t leaving; /* of rounds before: may go on, have not yet */
  uint32_t round;
};
_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "lies in the object");

static struct barrier* barrier_of(pthread_barrier_t* b) {
  return (struct barrier*)(void*)b;
}

int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* attributes, unsigned count) {
  (void)attributes;
  if (count == 0 || count >= UINT_MAX / 2) return EINVAL;
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_barrier_init, b);
  rt_go(self);
  memset(b, 0, sizeof *b);
  barrier_of(b)->count = count;
  return rt_done(self, 0);
}

/* Waits for those that have not left yet, as glibc's. */
static bool destroy_ready(const struct rt_thread* self) {
  const struct barrier* barrier = self->op.object;
  return barrier->arrived == 0 && barrier->leaving == 0;
}

int pthread_barrier_destroy(pthread_barrier_t* b) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_barrier_destroy, b);
  if (self != NULL) self->op.ready = destroy_ready;
  rt_go(self);
  return rt_done(self, 0);
}

/* The round that a thread waits in is its op.size. */
static bool leave_ready(const struct rt_thread* self) {
  const struct barrier* barrier = self->op.object;
  return barrier->round != self->op.size;
}

int pthread_barrier_wait(pthread_barrier_t* b) {
  struct barrier* barrier = barrier_of(b);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_barrier_wait, b);
  rt_go(self);
  if (++barrier->arrived == barrier->count) {
    barrier->arrived = 0;
    barrier->leaving += barrier->count - 1;
    ++barrier->round;
    return rt_done(self, PTHREAD_BARRIER_SERIAL_THREAD);
  }
  if (self == NULL) rt_stuck("pthread_barrier_wait");
  const uint32_t round = barrier->round;
  rt_result(self, 0);
  rt_sync(HEDDLE_SYNC_barrier_wait, b);
  self->op.size = round;
  self->op.ready = leave_ready;
  rt_go(self);
  --barrier->leaving;
  return rt_result(self, 0);
}
