// Synchronisation calls as events. A call that waits is an event when it comes back, one that lets others go on
// when it begins; waiting for a condition is both.
#include "symex/thread_interpreter.h"

namespace heddle {

Event& ThreadInterpreter::sync_event(EventKind kind, const SyncEntry& entry, uint64_t object) {
  machine_.pass(*machine_.current());
  Event& event = machine_.add_event(kind, machine_.current());
  event.sync = static_cast<uint8_t>(entry.kind);
  event.address = object;
  return event;
}

// Only when it comes back does a thread know that it was the last to arrive at a barrier. It goes on at once:
// under control that is one event, the others have two.
void ThreadInterpreter::arrived_last() {
  std::vector<Event>& events = machine_.trace.events;
  for (size_t i = events.size(); i-- > 0;) {
    if (events[i].kind != EventKind::barrier_arrive) continue;
    events[i].second = 1;
    break;
  }
  machine_.unpass({.instruction = machine_.current(), .counts = true});
}

void ThreadInterpreter::before_sync(const llvm::CallBase&, const SyncEntry& entry) {
  const uint64_t object = entry.object[0];
  switch (entry.kind) {
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_spin_unlock:
      sync_event(EventKind::unlock, entry, object).recursive = machine_.is_recursive(object);
      return;
    case HEDDLE_SYNC_rwlock_unlock:
      sync_event(machine_.holds_for_writing(object) ? EventKind::write_unlock : EventKind::read_unlock, entry,
                 object);
      machine_.release(object);
      return;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_cond_wait_cxx:
      sync_event(EventKind::wait_begin, entry, object).second = entry.object[1];
      return;
    case HEDDLE_SYNC_cond_signal:
      sync_event(EventKind::signal, entry, object);
      return;
    case HEDDLE_SYNC_cond_broadcast:
      sync_event(EventKind::broadcast, entry, object);
      return;
    case HEDDLE_SYNC_barrier_wait:
      sync_event(EventKind::barrier_arrive, entry, object);
      return;
    case HEDDLE_SYNC_sem_post:
      sync_event(EventKind::semaphore_post, entry, object);
      return;
    case HEDDLE_SYNC_mutex_destroy:
    case HEDDLE_SYNC_cond_destroy:
    case HEDDLE_SYNC_rwlock_destroy:
    case HEDDLE_SYNC_spin_destroy:
    case HEDDLE_SYNC_barrier_destroy:
    case HEDDLE_SYNC_sem_destroy:
      sync_event(EventKind::destroy, entry, object);
      return;
    case HEDDLE_SYNC_guard_release:
      sync_event(EventKind::once_done, entry, object);
      return;
    case HEDDLE_SYNC_guard_abort:
      sync_event(EventKind::once_done, entry, object).second = 1;
      return;
    case HEDDLE_SYNC_thread_exit:
      return;  // its last event is added when all of it was seen
    default:
      return;
  }
}

void ThreadInterpreter::after_sync(const llvm::CallBase& call, const SyncEntry& entry,
                                   const ReturnedEntry& returned) {
  const uint64_t object = entry.object[0];
  const bool well = returned.result.value_or(0) == 0;
  switch (entry.kind) {
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_spin_lock:
      if (well) sync_event(EventKind::lock, entry, object).recursive = machine_.is_recursive(object);
      return;
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_spin_trylock:
      sync_event(well ? EventKind::lock : EventKind::lock_failed, entry, object).recursive =
          machine_.is_recursive(object);
      return;
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
      sync_event(well ? EventKind::read_lock : EventKind::read_lock_failed, entry, object);
      return;
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      sync_event(well ? EventKind::write_lock : EventKind::write_lock_failed, entry, object);
      if (well) machine_.hold_for_writing(object);
      return;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_wait_cxx:
    case HEDDLE_SYNC_cond_timedwait: {
      const bool woken = entry.kind != HEDDLE_SYNC_cond_timedwait || well;
      sync_event(woken ? EventKind::wait_end : EventKind::wait_timeout, entry, object).second = entry.object[1];
      return;
    }
    case HEDDLE_SYNC_barrier_wait: {
      const bool last = returned.result.value_or(0) == 0xffffffff;  // PTHREAD_BARRIER_SERIAL_THREAD
      if (last) arrived_last();
      if (well || last) sync_event(EventKind::barrier_leave, entry, object);
      return;
    }
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_timedwait:
      sync_event(well ? EventKind::semaphore_wait : EventKind::semaphore_failed, entry, object);
      return;
    case HEDDLE_SYNC_mutex_init:
    case HEDDLE_SYNC_cond_init:
    case HEDDLE_SYNC_rwlock_init:
    case HEDDLE_SYNC_spin_init:
      sync_event(EventKind::init, entry, object);
      return;
    case HEDDLE_SYNC_barrier_init:
    case HEDDLE_SYNC_sem_init:
      sync_event(EventKind::init, entry, object).second = argument(call, 2).value_or(0) & 0xffffffff;
      return;
    case HEDDLE_SYNC_guard_acquire:
      sync_event(returned.result.value_or(0) != 0 ? EventKind::once_begin : EventKind::once_passed, entry,
                 object);
      return;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
    case HEDDLE_SYNC_thread_join_cxx:
      if (const auto thread = around_.thread_of(object); well && thread)
        sync_event(EventKind::join, entry, *thread);
      return;
    case HEDDLE_SYNC_once:
      sync_event(EventKind::once_passed, entry, object);
      return;
    default:
      return;
  }
}

}  // namespace heddle
