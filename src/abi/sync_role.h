/* What calls on locks do, for those who look at runs: one list for all of them. A C header without includes but
 * for the kinds. */
#ifndef HEDDLE_ABI_SYNC_ROLE_H
#define HEDDLE_ABI_SYNC_ROLE_H

#include "abi/sync_kind.h"

/* Takes the lock, however long that lasts. */
static inline int heddle_sync_locks(unsigned kind) {
  return kind == HEDDLE_SYNC_mutex_lock || kind == HEDDLE_SYNC_rwlock_rdlock ||
         kind == HEDDLE_SYNC_rwlock_wrlock || kind == HEDDLE_SYNC_spin_lock;
}

/* Takes the lock, or goes on without it. */
static inline int heddle_sync_tries(unsigned kind) {
  switch (kind) {
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
    case HEDDLE_SYNC_spin_trylock:
      return 1;
    default:
      return 0;
  }
}

static inline int heddle_sync_unlocks(unsigned kind) {
  return kind == HEDDLE_SYNC_mutex_unlock || kind == HEDDLE_SYNC_rwlock_unlock ||
         kind == HEDDLE_SYNC_spin_unlock;
}

#endif
