/* Kinds of synchronisation operations: the one list that the effects table, the passes, the runtimes and the
 * readers of recordings share. A C header without includes: runtimes use it too.
 *
 * The numbers will be stored in recordings: a new kind goes to the end of the list.
 * X(name, number of object arguments)
 */
#ifndef HEDDLE_ABI_SYNC_KIND_H
#define HEDDLE_ABI_SYNC_KIND_H

#define HEDDLE_SYNC_KINDS(X)                                                                                                                                                                                                                                                                                                      \
  /* mutexes */                                                                                                                                                                                                                                                                                                                   \
  X(mutex_init, 1)                                                                                                                                                                                                                                                                                                                \
  X(mutex_destroy, 1) X(mutex_lock, 1) X(mutex_trylock, 1) X(mutex_timedlock, 1)                                                                                                                                                                                                                                                  \
      X(mutex_unlock,                                                                                                                                                                                                                                                                                                             \
        1) /* condition variables: condition, mutex; the _cxx ones take the std::unique_lock of the mutex */                                                                                                                                                                                                                      \
      X(cond_init, 1) X(cond_destroy, 1) X(cond_wait, 2) X(cond_timedwait, 2) X(cond_signal, 1)                                                                                                                                                                                                                                   \
          X(cond_broadcast, 1) X(cond_wait_cxx, 2) X(cond_broadcast_at_exit_cxx, 2) /* read-write locks */                                                                                                                                                                                                                        \
      X(rwlock_init, 1) X(rwlock_destroy, 1) X(rwlock_rdlock, 1) X(rwlock_tryrdlock, 1)                                                                                                                                                                                                                                           \
          X(rwlock_timedrdlock, 1) X(rwlock_wrlock, 1) X(rwlock_trywrlock, 1) X(rwlock_timedwrlock, 1)                                                                                                                                                                                                                            \
              X(rwlock_unlock, 1) /* spin locks, barriers, semaphores */                                                                                                                                                                                                                                                          \
      X(spin_init, 1) X(spin_destroy, 1) X(spin_lock, 1) X(spin_trylock, 1) X(spin_unlock, 1)                                                                                                                                                                                                                                     \
          X(barrier_init, 1) X(barrier_destroy, 1) X(barrier_wait, 1) X(sem_init, 1) X(sem_destroy, 1)                                                                                                                                                                                                                            \
              X(sem_open, 0) X(sem_close, 1)                                                                                                                                                                                                                                                                                      \
                  X(                                                                                                                                                                                                                                                                                                              \
                      sem_wait, 1) X(sem_trywait, 1) X(sem_timedwait, 1) X(sem_post, 1) X(sem_getvalue, 1) /* threads: create(handle, start function, its argument); the start function is last but one; objects of */ /* the others are handles (pthread_t), of the _cxx ones pointers to a std::thread, which holds a handle */ \
      X(thread_create, 3) X(thread_start_cxx, 2) X(thread_exit, 0) X(thread_join, 1) X(thread_tryjoin, 1)                                                                                                                                                                                                                         \
          X(thread_timedjoin, 1) X(thread_detach, 1) X(thread_cancel, 1) X(thread_testcancel, 0)                                                                                                                                                                                                                                  \
              X(thread_self, 0) X(thread_equal, 0) X(thread_kill, 1) X(thread_setcancel, 0)                                                                                                                                                                                                                                       \
                  X(thread_join_cxx, 1) X(thread_detach_cxx, 1)            /* once-only initialisation */                                                                                                                                                                                                                         \
      X(once, 2) X(guard_acquire, 1) X(guard_release, 1) X(guard_abort, 1) /* thread-specific data */                                                                                                                                                                                                                             \
      X(key_create, 1) X(key_delete, 0) X(key_get, 0)                                                                                                                                                                                                                                                                             \
          X(key_set, 0) /* futexes: the system call, and libstdc++'s out-of-line waits on an atomic word */                                                                                                                                                                                                                       \
      X(futex, 1) X(futex_wait_cxx, 1)                                                                                                                                                                                                                                                                                            \
          X(futex_notify_cxx, 1) /* giving way: yield, sleeps (virtual time under control) */                                                                                                                                                                                                                                     \
      X(yield, 0)                                                                                                                                                                                                                                                                                                                 \
          X(sleep,                                                                                                                                                                                                                                                                                                                \
            0) /* attributes objects and tuning calls: no ordering, listed so that they are not unknown */                                                                                                                                                                                                                        \
      X(attribute, 0) /* what is no call: the first and last thing a thread does, the way out of the process,                                                                                                                                                                                                                     \
                         waiting for files */                                                                                                                                                                                                                                                                                     \
      X(thread_begin, 0) X(thread_end, 0) X(process_exit, 0) X(file_wait, 1) X(signal_delivery, 0)

enum heddle_sync_kind {
  HEDDLE_SYNC_none = 0,
#define HEDDLE_SYNC_ENUM(name, objects) HEDDLE_SYNC_##name,
  HEDDLE_SYNC_KINDS(HEDDLE_SYNC_ENUM)
#undef HEDDLE_SYNC_ENUM
      HEDDLE_SYNC_count
};

/* Calls that let other threads go on: what came before them is over when they begin. A recording has one stamp
 * for each synchronisation call: before these, after all others, which come back when somebody let them. */
static inline int heddle_sync_releases(unsigned kind) {
  switch (kind) {
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_cond_signal:
    case HEDDLE_SYNC_cond_broadcast:
    case HEDDLE_SYNC_cond_broadcast_at_exit_cxx:
    case HEDDLE_SYNC_rwlock_unlock:
    case HEDDLE_SYNC_spin_unlock:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_thread_create:
    case HEDDLE_SYNC_thread_start_cxx:
    case HEDDLE_SYNC_thread_exit:
    case HEDDLE_SYNC_thread_cancel:
    case HEDDLE_SYNC_thread_kill:
    case HEDDLE_SYNC_guard_release:
    case HEDDLE_SYNC_guard_abort:
    case HEDDLE_SYNC_futex_notify_cxx:
      return 1;
    default:
      return 0;
  }
}

#endif
