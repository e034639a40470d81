/* Synchronisation: each operation is an event on its object (the ghost accesses of the paper, section 4.3),
 * placed so that the order of the events is that of the operations: behind what waits, before what lets others
 * go on, around what does neither. In a replay the order of events has been decided, and nobody waits: the real
 * operations are left out, their results given back. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <threads.h>
#include <unistd.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

void rt_fl_joined(pthread_t handle);
void rt_fl_joined_again(pthread_t handle, int error); /* a replay, in earnest */

/* What libc does inside is its own business. */
#define REAL(name, ...) RT_FL_APART(RT_FL_REAL(name, __VA_ARGS__))
/* For what may wait. In a replay nobody does. */
#define WAIT_FOR(name, ...)                                              \
  ({                                                                     \
    rt_fl_begin_wait();                                                  \
    const int waited_ = rt_fl_replaying() ? 0 : REAL(name, __VA_ARGS__); \
    rt_fl_end_wait();                                                    \
    waited_;                                                             \
  })

static int told_result(int real) {
  if (!rt_fl_active()) return real;
  if (rt_fl.mode == FL_RECORD) {
    if (real != 0) rt_fl_note(HEDDLE_FLOW_sync_result, real, NULL, 0);
    return real;
  }
  const uint8_t* bytes;
  uint64_t size;
  return rt_fl_next_is(HEDDLE_FLOW_sync_result) ? (int)rt_fl_given(HEDDLE_FLOW_sync_result, &bytes, &size) : 0;
}

static int result(int real) {
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_sync);
  const int told = told_result(real);
  rt_fl_run_handlers();
  rt_fl_disturb(heddle_control_site);
  return told;
}

/* The kernel hands addresses on too (epoll, pipes): in a replay it gives them back before the thread whose heap
 * they are in has begun, and the event waits for that. */
static bool comes_later(const void* object) {
  const uint64_t slot = ((uint64_t)(uintptr_t)object - HEDDLE_FLOW_BASE) / HEDDLE_FLOW_SLOT_SIZE;
  return rt_fl_replaying() && slot < HEDDLE_FLOW_SLOTS && LOAD(&rt_fl.threads[slot].head) == NULL;
}

/* A bad address fails in both, where libc would look first. */
#define TOUCH(object)                                      \
  ((void)(comes_later((const void*)(uintptr_t)(object)) || \
          ((const volatile uint8_t*)(object))[sizeof *(object) > 16 ? 16 : 0]))

/* Waits, then the event. */
#define ACQUIRES(name, parameters, object, ...)         \
  RT_FL_ENTRY(name);                                    \
  int rt_do_##name parameters;                          \
  int rt_do_##name parameters {                         \
    TOUCH(object);                                      \
    const int real = WAIT_FOR(name, __VA_ARGS__);       \
    rt_fl_object_event((const void*)(uintptr_t)object); \
    return result(real);                                \
  }
static void locked(int real, const volatile void* lock) {
  if (real == 0 || real == EOWNERDEAD) rt_fl_begin_section((const void*)(uintptr_t)lock);
}
static void shared(int real, const volatile void* lock) {
  (void)real;
  (void)lock;
}
/* The same, where most do not wait: `try` says so. Recording makes what is done under a lock longer, so that
 * more threads meet; but it is still mostly over before a thread could have gone to sleep and been woken again.
 * `as`: locked or shared. */
#define PATIENCE 32
static void pause_a_little(void) {
  for (uint32_t i = 0; i < 4; ++i) __builtin_ia32_pause();
}
#define ACQUIRES_SOON(name, try, as, parameters, object)                   \
  RT_FL_ENTRY(name);                                                       \
  int rt_do_##name parameters;                                             \
  int rt_do_##name parameters {                                            \
    TOUCH(object);                                                         \
    rt_fl_run_handlers();                                                  \
    int real = rt_fl_replaying() ? 0 : REAL(try, object);                  \
    for (uint32_t tries = 0; real == EBUSY && tries < PATIENCE; ++tries) { \
      pause_a_little();                                                    \
      real = REAL(try, object);                                            \
    }                                                                      \
    if (real == EBUSY) {                                                   \
      rt_fl_wait_on();                                                     \
      real = REAL(name, object);                                           \
      rt_fl_end_wait();                                                    \
    }                                                                      \
    as(real, object);                                                      \
    rt_fl_object_event((const void*)(uintptr_t)object);                    \
    return result(real);                                                   \
  }
/* Does not wait: happens inside the event. */
#define CHANGES(name, parameters, object, ...)                        \
  RT_FL_ENTRY(name);                                                  \
  int rt_do_##name parameters;                                        \
  int rt_do_##name parameters {                                       \
    TOUCH(object);                                                    \
    rt_fl_begin_object((const void*)(uintptr_t)object);               \
    const int real = rt_fl_replaying() ? 0 : REAL(name, __VA_ARGS__); \
    rt_fl_end_event();                                                \
    return result(real);                                              \
  }
/* Lets others go on, who have their events behind that: the event comes first, so that nobody waits for it. */
#define RELEASES(name, parameters, object, ...)                     \
  RT_FL_ENTRY(name);                                                \
  int rt_do_##name parameters;                                      \
  int rt_do_##name parameters {                                     \
    TOUCH(object);                                                  \
    rt_fl_object_event((const void*)(uintptr_t)object);             \
    return result(rt_fl_replaying() ? 0 : REAL(name, __VA_ARGS__)); \
  }
/* The same, of a lock: a section ends. */
#define UNLOCKS(name, parameters, object)                      \
  RT_FL_ENTRY(name);                                           \
  int rt_do_##name parameters;                                 \
  int rt_do_##name parameters {                                \
    TOUCH(object);                                             \
    rt_fl_object_event((const void*)(uintptr_t)object);        \
    rt_fl_end_section((const void*)(uintptr_t)object);         \
    return result(rt_fl_replaying() ? 0 : REAL(name, object)); \
  }
/* ---- cancellation: a thread that is cancelled while it waits leaves by its cleanup handlers, in a replay from
 * the same place. What it would have done behind the wait is done first. */
struct wait {
  const void *condition, *lock;
  uint32_t depth;
};

static void after_wait(const struct wait* wait) {
  if (wait->condition != NULL) rt_fl_object_event(wait->condition);
  if (wait->lock != NULL) rt_fl_object_event(wait->lock);
}

static void on_cancel(void* argument) {
  const struct wait* const wait = argument;
  if (rt_fl_local == NULL) return;
  rt_fl_local->depth = wait->depth;
  rt_fl_end_wait();
  after_wait(wait);
  if (rt_fl_active()) rt_fl_note(HEDDLE_FLOW_cancelled, 0, NULL, 0);
}

static void again_program(void* argument) {
  (void)argument;
  --rt_fl_local->depth;
}

void rt_fl_leave_if_cancelled(void) {
  if (!rt_fl_replaying() || !rt_fl_next_is(HEDDLE_FLOW_cancelled)) return;
  const uint8_t* bytes;
  uint64_t size;
  rt_fl_given(HEDDLE_FLOW_cancelled, &bytes, &size);
  /* As in the recorded run, what libc does to begin with is its own business. */
  ++rt_fl_local->depth;
  pthread_cleanup_push(again_program, NULL);
  pthread_exit(PTHREAD_CANCELED);
  pthread_cleanup_pop(0);
}

/* The same for a system call. libc has said that the thread may be cancelled in it, where libc makes it; where
 * the runtime stands in place of libc's function (`is_point`) it says so itself. */
long rt_fl_call_cancellably(long number, const long a[6], bool is_point) {
  struct wait wait = {.depth = rt_fl_local->depth};
  int type = PTHREAD_CANCEL_DEFERRED;
  long result = 0;
  pthread_cleanup_push(on_cancel, &wait);
  ++rt_fl_local->depth;
  if (is_point) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  result = rt_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (is_point) pthread_setcanceltype(type, NULL);
  --rt_fl_local->depth;
  pthread_cleanup_pop(0);
  return result;
}

/* Behind such a call: whoever has been told to leave meanwhile does so here. */
void rt_fl_end_point(void) {
  struct wait wait = {.depth = rt_fl_local != NULL ? rt_fl_local->depth : 0};
  pthread_cleanup_push(on_cancel, &wait);
  if (rt_fl_local != NULL) ++rt_fl_local->depth;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  if (rt_fl_local != NULL) --rt_fl_local->depth;
  pthread_cleanup_pop(0);
  rt_fl_leave_if_cancelled();
}

/* From which a thread may be cancelled. */
#define CANCELLABLE(wait, name, ...)                              \
  ({                                                              \
    int waited_ = 0;                                              \
    (wait)->depth = rt_fl_local != NULL ? rt_fl_local->depth : 0; \
    rt_fl_begin_wait();                                           \
    if (!rt_fl_replaying()) {                                     \
      pthread_cleanup_push(on_cancel, wait);                      \
      waited_ = REAL(name, __VA_ARGS__);                          \
      pthread_cleanup_pop(0);                                     \
    }                                                             \
    rt_fl_end_wait();                                             \
    const int error_ = errno;                                     \
    after_wait(wait);                                             \
    rt_fl_leave_if_cancelled();                                   \
    errno = error_;                                               \
    waited_;                                                      \
  })

/* A condition: the lock is let go, and taken again. */
#define WAITS(name, parameters, condition_, lock_, ...)          \
  RT_FL_ENTRY(name);                                             \
  int rt_do_##name parameters;                                   \
  int rt_do_##name parameters {                                  \
    TOUCH(condition_);                                           \
    TOUCH(lock_);                                                \
    rt_fl_object_event(lock_);                                   \
    rt_fl_end_section(lock_);                                    \
    rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_sync);      \
    struct wait wait = {.condition = condition_, .lock = lock_}; \
    const int waited = CANCELLABLE(&wait, name, __VA_ARGS__);    \
    locked(waited == ETIMEDOUT ? 0 : waited, lock_);             \
    return result(waited);                                       \
  }

typedef const struct timespec* deadline;
ACQUIRES_SOON(pthread_mutex_lock, pthread_mutex_trylock, locked, (pthread_mutex_t * m), m)
ACQUIRES(pthread_mutex_timedlock, (pthread_mutex_t * m, deadline t), m, m, t)
ACQUIRES(pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t c, deadline t), m, m, c, t)
CHANGES(pthread_mutex_trylock, (pthread_mutex_t * m), m, m)
UNLOCKS(pthread_mutex_unlock, (pthread_mutex_t * m), m)
CHANGES(pthread_mutex_destroy, (pthread_mutex_t * m), m, m)
CHANGES(pthread_mutex_consistent, (pthread_mutex_t * m), m, m)
WAITS(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t* m), c, m, c, m)
WAITS(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t* m, deadline t), c, m, c, m, t)
WAITS(pthread_cond_clockwait, (pthread_cond_t * c, pthread_mutex_t* m, clockid_t k, deadline t), c, m, c, m, k,
      t)
RELEASES(pthread_cond_signal, (pthread_cond_t * c), c, c)
RELEASES(pthread_cond_broadcast, (pthread_cond_t * c), c, c)
ACQUIRES_SOON(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, shared, (pthread_rwlock_t * l), l)
ACQUIRES_SOON(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, locked, (pthread_rwlock_t * l), l)
ACQUIRES(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, deadline t), l, l, t)
ACQUIRES(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, deadline t), l, l, t)
ACQUIRES(pthread_rwlock_clockrdlock, (pthread_rwlock_t * l, clockid_t c, deadline t), l, l, c, t)
ACQUIRES(pthread_rwlock_clockwrlock, (pthread_rwlock_t * l, clockid_t c, deadline t), l, l, c, t)
CHANGES(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), l, l)
CHANGES(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), l, l)
UNLOCKS(pthread_rwlock_unlock, (pthread_rwlock_t * l), l)
ACQUIRES_SOON(pthread_spin_lock, pthread_spin_trylock, locked, (pthread_spinlock_t * l), l)
CHANGES(pthread_spin_trylock, (pthread_spinlock_t * l), l, l)
UNLOCKS(pthread_spin_unlock, (pthread_spinlock_t * l), l)

RT_FL_ENTRY(pthread_barrier_wait);
int rt_do_pthread_barrier_wait(pthread_barrier_t* barrier);
int rt_do_pthread_barrier_wait(pthread_barrier_t* barrier) {
  rt_fl_object_event(barrier);
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_sync);
  const int real = WAIT_FOR(pthread_barrier_wait, barrier);
  rt_fl_object_event(barrier);
  return result(real);
}
RT_FL_ENTRY(pthread_barrier_destroy);
int rt_do_pthread_barrier_destroy(pthread_barrier_t* barrier);
int rt_do_pthread_barrier_destroy(
    pthread_barrier_t* barrier) { /* waits for those who leave: they are in libc */
  const int real = WAIT_FOR(pthread_barrier_destroy, barrier);
  rt_fl_object_event(barrier);
  return result(real);
}

/* ---- C11 */
ACQUIRES(mtx_lock, (mtx_t * m), m, m)
ACQUIRES(mtx_timedlock, (mtx_t * m, deadline t), m, m, t)
CHANGES(mtx_trylock, (mtx_t * m), m, m)
UNLOCKS(mtx_unlock, (mtx_t * m), m)
WAITS(cnd_wait, (cnd_t * c, mtx_t* m), c, m, c, m)
WAITS(cnd_timedwait, (cnd_t * c, mtx_t* m, deadline t), c, m, c, m, t)
RELEASES(cnd_signal, (cnd_t * c), c, c)
RELEASES(cnd_broadcast, (cnd_t * c), c, c)

/* ---- results with errno */
static int with_errno(int real) {
  const int error = real < 0 ? errno : 0;
  const int told = result(real < 0 ? -error : real);
  if (told >= 0) return told;
  errno = -told;
  return -1;
}
#define SEMAPHORE_WAITS(name, parameters, ...)                \
  RT_FL_ENTRY(name);                                          \
  int rt_do_##name parameters;                                \
  int rt_do_##name parameters {                               \
    struct wait wait = {.lock = s};                           \
    return with_errno(CANCELLABLE(&wait, name, __VA_ARGS__)); \
  }
SEMAPHORE_WAITS(sem_wait, (sem_t * s), s)
SEMAPHORE_WAITS(sem_timedwait, (sem_t * s, deadline t), s, t)
SEMAPHORE_WAITS(sem_clockwait, (sem_t * s, clockid_t c, deadline t), s, c, t)
#define SEMAPHORE_CHANGES(name)                             \
  RT_FL_ENTRY(name);                                        \
  int rt_do_##name(sem_t* s);                               \
  int rt_do_##name(sem_t* s) {                              \
    rt_fl_begin_object(s);                                  \
    const int real = rt_fl_replaying() ? 0 : REAL(name, s); \
    const int error = errno;                                \
    rt_fl_end_event();                                      \
    errno = error;                                          \
    return with_errno(real);                                \
  }
SEMAPHORE_CHANGES(sem_trywait)
SEMAPHORE_CHANGES(sem_post)

RT_FL_ENTRY(sem_getvalue);
int rt_do_sem_getvalue(sem_t* s, int* value);
int rt_do_sem_getvalue(sem_t* s, int* value) {
  rt_fl_begin_object(s);
  const int real = rt_fl_replaying() ? 0 : REAL(sem_getvalue, s, value);
  rt_fl_end_event();
  *value = result(*value);
  return real;
}

RT_FL_ENTRY(pthread_testcancel);
void rt_do_pthread_testcancel(void);
void rt_do_pthread_testcancel(void) {
  rt_fl_empty_event(); /* by whose number a replay knows the place */
  struct wait wait = {.lock = NULL};
  wait.depth = rt_fl_local != NULL ? rt_fl_local->depth : 0;
  if (!rt_fl_replaying()) {
    static void (*real)(void);
    if (real == NULL) real = (void (*)(void))rt_real("pthread_testcancel");
    pthread_cleanup_push(on_cancel, &wait);
    if (rt_fl_local != NULL) ++rt_fl_local->depth; /* unwinding is libc's own business: pthread_once */
    real();
    if (rt_fl_local != NULL) --rt_fl_local->depth;
    pthread_cleanup_pop(0);
  }
  rt_fl_leave_if_cancelled();
}

/* In a replay the thread leaves where it did, not where it would be met now. */
RT_FL_ENTRY(pthread_cancel);
int rt_do_pthread_cancel(pthread_t handle);
int rt_do_pthread_cancel(pthread_t handle) {
  return result(rt_fl_replaying() ? 0 : REAL(pthread_cancel, handle));
}

/* ---- joining: in a replay the thread has performed its last event, and ends in earnest. Where joining fails
 * there is an event too, by whose number a replay knows the place. */
static int joined(int real, pthread_t handle) {
  if (real == 0)
    rt_fl_joined(handle);
  else
    rt_fl_empty_event();
  return result(real);
}
static int joined_again(int real, pthread_t handle) {
  rt_fl_joined_again(handle, real);
  return real;
}
#define JOINS(name, parameters, handle, ...)                                                      \
  RT_FL_ENTRY(name);                                                                              \
  int rt_do_##name parameters;                                                                    \
  int rt_do_##name parameters {                                                                   \
    struct wait wait = {.lock = NULL};                                                            \
    const int told = joined(CANCELLABLE(&wait, name, __VA_ARGS__), handle);                       \
    return told == 0 && rt_fl_replaying() ? joined_again(REAL(name, __VA_ARGS__), handle) : told; \
  }
#define TRIES_TO_JOIN(name, parameters, ...)                                                                \
  RT_FL_ENTRY(name);                                                                                        \
  int rt_do_##name parameters;                                                                              \
  int rt_do_##name parameters {                                                                             \
    struct wait wait = {.lock = NULL};                                                                      \
    const int told = joined(CANCELLABLE(&wait, name, __VA_ARGS__), handle);                                 \
    return told == 0 && rt_fl_replaying() ? joined_again(REAL(pthread_join, handle, value), handle) : told; \
  }
JOINS(pthread_join, (pthread_t handle, void** value), handle, handle, value)
JOINS(thrd_join, (thrd_t handle, int* value), handle, handle, value)
TRIES_TO_JOIN(pthread_tryjoin_np, (pthread_t handle, void** value), handle, value)
TRIES_TO_JOIN(pthread_timedjoin_np, (pthread_t handle, void** value, deadline t), handle, value, t)
TRIES_TO_JOIN(pthread_clockjoin_np, (pthread_t handle, void** value, clockid_t c, deadline t), handle, value, c,
              t)

/* ---- keys: libc numbers them as they come. */
static uint64_t keys;

RT_FL_ENTRY(pthread_key_create);
int rt_do_pthread_key_create(pthread_key_t* key, void (*destroy)(void*));
int rt_do_pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
  pthread_key_t made = 0;
  rt_fl_begin_object(&keys);
  const int error = RT_FL_REAL(pthread_key_create, &made, destroy);
  rt_fl_end_event();
  if (error == 0) rt_fl_write_event(key, &made, sizeof made);
  return error;
}

RT_FL_ENTRY(pthread_key_delete);
int rt_do_pthread_key_delete(pthread_key_t key);
int rt_do_pthread_key_delete(pthread_key_t key) {
  rt_fl_begin_object(&keys);
  const int error = RT_FL_REAL(pthread_key_delete, key);
  rt_fl_end_event();
  return error;
}

RT_FL_ENTRY(tss_create);
int rt_do_tss_create(tss_t* key, tss_dtor_t destroy);
int rt_do_tss_create(tss_t* key, tss_dtor_t destroy) {
  return rt_do_pthread_key_create(key, destroy) == 0 ? thrd_success : thrd_error;
}

RT_FL_ENTRY(tss_delete);
void rt_do_tss_delete(tss_t key);
void rt_do_tss_delete(tss_t key) {
  rt_do_pthread_key_delete(key);
}
