// Which events of a run conflict: the same memory, one of them writes; the same synchronisation object, and
// what one does to it matters to the other.
#pragma once

#include "abi/control.h"
#include "abi/sync_role.h"

namespace heddle {

inline bool is_sync(const heddle_event& event) {
  return event.kind >= HEDDLE_EVENT_sync;
}

inline bool frees(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_frees;
}

inline bool reads(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update ||
         (event.kind == HEDDLE_EVENT_call && event.order != HEDDLE_CALL_writes && !frees(event));
}

inline bool writes(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_write || event.kind == HEDDLE_EVENT_update ||
         (event.kind == HEDDLE_EVENT_call && event.order != HEDDLE_CALL_reads);
}

// What a synchronisation operation does to who else uses its object.
enum class SyncRole : uint8_t { none, takes, tries, gives, meets };

inline SyncRole role_of(const heddle_event& event) {
  const uint32_t kind = event.kind - HEDDLE_EVENT_sync;
  if (heddle_sync_locks(kind)) return SyncRole::takes;
  if (heddle_sync_tries(kind)) return SyncRole::tries;
  if (heddle_sync_unlocks(kind)) return SyncRole::gives;
  switch (kind) {
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_cond_signal:
    case HEDDLE_SYNC_cond_broadcast:
    case HEDDLE_SYNC_cond_wait_cxx:
    case HEDDLE_SYNC_barrier_wait:
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_sem_getvalue:
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
    case HEDDLE_SYNC_futex:
    case HEDDLE_SYNC_futex_wait_cxx:
    case HEDDLE_SYNC_futex_notify_cxx:
      return SyncRole::meets;
    default:
      return SyncRole::none;
  }
}

inline bool roles_conflict(SyncRole one, SyncRole other) {
  if (one == SyncRole::none || other == SyncRole::none) return false;
  // Whoever gives a lock back is in nobody's way but of those that only try to take it.
  if (one == SyncRole::gives) return other == SyncRole::tries;
  if (other == SyncRole::gives) return one == SyncRole::tries;
  return true;
}

}  // namespace heddle
