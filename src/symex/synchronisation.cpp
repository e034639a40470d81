// Synchronisation calls as events. A call that waits is an event when it comes back, one that lets others go on
// when it begins; waiting for a condition is both.
#include <cerrno>

#include "symex/thread_interpreter.h"
#include "symex/thread_signals.h"

namespace heddle {

Event& ThreadInterpreter::sync_event(EventKind kind, const SyncEntry& entry, uint64_t object) {
  machine_.pass(*machine_.current());
  Event& event = machine_.add_event(kind, machine_.current());
  event.sync = static_cast<uint8_t>(entry.kind);
  event.address = object;
  return event;
}

// pthread_once has called the function: it is this thread's to do.
void ThreadInterpreter::begin_once() {
  if (pending_.empty() || pending_.back().first != machine_.frames.size()) return;
  const SyncEntry& entry = pending_.back().second.entry;
  if (entry.kind == HEDDLE_SYNC_once && once_runs_.insert(entry.object[0]).second)
    sync_event(EventKind::once_begin, entry, entry.object[0]);
}

void ThreadInterpreter::wait_event(EventKind kind, const SyncEntry& entry) {
  Event& event = sync_event(kind, entry, entry.object[0]);
  event.second = entry.object[1];
  event.recursive = machine_.is_recursive(event.second);
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

// A promise that libstdc++ fulfils when the thread ends: behind what it keeps in its list it has a weak pointer
// to the shared state.
void ThreadInterpreter::make_ready_at_exit(const llvm::CallBase& call) {
  constexpr uint64_t kState = 16, kControl = 24;
  const auto item = argument(call, 0);
  const std::optional<uint64_t> state = item ? machine_.known_word(*item + kState) : std::nullopt;
  const std::optional<uint64_t> control = item ? machine_.known_word(*item + kControl) : std::nullopt;
  if (state && control) {
    ready_at_exit_.emplace_back(*state, *control);
  } else {
    machine_.unknown(1, "a promise that is fulfilled when the thread ends");
    machine_.wrote_anywhere = true;
  }
}

// std::notify_all_at_thread_exit: the lock that was handed over is released, then all are woken. Promises are
// fulfilled: the shared state has its status behind the result. What the thread was to do once is for another
// one to do; robust mutexes that it holds are released.
void ThreadInterpreter::finish_thread() {
  if (!ended_itself_) took(HEDDLE_SYNC_thread_cancel);
  const auto add = [this](EventKind kind, uint64_t object) -> Event& {
    ++machine_.step;
    Event& event = machine_.add_event(kind, nullptr);
    event.address = object;
    return event;
  };
  constexpr uint64_t kStatus = 16, kCounts = 8;
  for (const auto& [state, control] : ready_at_exit_) {
    ++machine_.step;
    machine_.forget(control + kCounts, 8, "how many own a promise that is fulfilled when the thread ends");
    ++machine_.step;
    machine_.write_from_outside(state + kStatus, std::vector<uint8_t>{1, 0, 0, 0}, false);
  }
  for (const SyncEntry& entry : at_exit_) {
    add(EventKind::unlock, entry.object[1]);
    add(EventKind::broadcast, entry.object[0]);
  }
  for (const uint64_t object : once_runs_) add(EventKind::once_done, object).second = 1;
  for (const auto& [mutex, levels] : robust_mutexes_) add(EventKind::unlock, mutex);
}

// A call is left by an exception.
void ThreadInterpreter::abandon(const Pending& left) {
  const SyncEntry& entry = left.entry;
  if (entry.kind != HEDDLE_SYNC_once || once_runs_.erase(entry.object[0]) == 0) return;
  machine_.at(left.call);
  sync_event(EventKind::once_done, entry, entry.object[0]).second = 1;
}

namespace {

// Codes of <threads.h>, which has functions of the same kinds.
constexpr uint64_t kBusy = 1, kTimedOut = 4;

bool is_timeout(uint64_t result) {
  return result == ETIMEDOUT || result == kTimedOut;
}

// A lock was not taken because somebody held it, not because of how it was asked for.
bool was_in_the_way(uint64_t result) {
  return result == EBUSY || result == kBusy || is_timeout(result);
}

// A call that lets others go on has refused to: the caller may not, or there is no such object.
bool was_refused(uint64_t kind, uint64_t result) {
  switch (kind) {
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_spin_unlock:
    case HEDDLE_SYNC_mutex_destroy:
    case HEDDLE_SYNC_cond_destroy:
    case HEDDLE_SYNC_rwlock_destroy:
    case HEDDLE_SYNC_barrier_destroy:
    case HEDDLE_SYNC_sem_destroy:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_thread_kill:
    case HEDDLE_SYNC_thread_cancel:
      return result != 0;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
      return result != 0 && result != EOWNERDEAD && !is_timeout(result);
    default:
      return false;
  }
}

}  // namespace

void ThreadInterpreter::before_sync(const llvm::CallBase& call, const SyncEntry& entry) {
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
      wait_event(EventKind::wait_begin, entry);
      return;
    case HEDDLE_SYNC_cond_broadcast_at_exit_cxx:
      at_exit_.push_back(entry);
      // The lock is a std::unique_lock, which begins with the address of its mutex.
      if (uint64_t mutex = 0;
          machine_.memory.read(entry.object[1], {reinterpret_cast<uint8_t*>(&mutex), sizeof mutex}))
        at_exit_.back().object[1] = mutex;
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
    case HEDDLE_SYNC_thread_kill:
      if (const auto number = argument(call, 1); number && *number != 0)
        sync_event(EventKind::semaphore_post, entry, signal_object(object, entry.kind));
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
      // The byte by which the program's own code sees that the variable has its value (Itanium C++ ABI 3.3.3).
      machine_.write_from_outside(object, std::vector<uint8_t>{1}, false);
      sync_event(EventKind::once_done, entry, object);
      return;
    case HEDDLE_SYNC_guard_abort:
      sync_event(EventKind::once_done, entry, object).second = 1;
      return;
    case HEDDLE_SYNC_thread_cancel:
      sync_event(EventKind::semaphore_post, entry, signal_object(object, entry.kind));
      return;
    case HEDDLE_SYNC_thread_exit:
      ended_itself_ = true;
      return;  // its last event is added when all of it was seen
    default:
      return;
  }
}

void ThreadInterpreter::after_sync(const llvm::CallBase& call, const SyncEntry& entry,
                                   const ReturnedEntry& returned) {
  const uint64_t object = entry.object[0];
  const uint64_t result = returned.result.value_or(0);
  const bool well = result == 0 || result == EOWNERDEAD;  // a robust mutex, whose holder has died
  if (was_refused(entry.kind, result)) {
    if (Event* event = machine_.unfinished()) event->kind = EventKind::sync;
    return;
  }
  const auto kind_of_lock = [&](EventKind locked, EventKind failed) {
    return well ? locked : was_in_the_way(result) ? failed : EventKind::sync;
  };
  switch (entry.kind) {
    case HEDDLE_SYNC_mutex_unlock:
      forget_robust(object);
      return;
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
      sync_event(kind_of_lock(EventKind::lock, EventKind::lock_failed), entry, object).recursive =
          machine_.is_recursive(object);
      if (well && machine_.is_robust(object)) ++robust_mutexes_[object];
      return;
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
      sync_event(kind_of_lock(EventKind::read_lock, EventKind::read_lock_failed), entry, object);
      return;
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      sync_event(kind_of_lock(EventKind::write_lock, EventKind::write_lock_failed), entry, object);
      if (well) machine_.hold_for_writing(object);
      return;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_wait_cxx:
    case HEDDLE_SYNC_cond_timedwait: {
      const bool woken = entry.kind != HEDDLE_SYNC_cond_timedwait || well;
      wait_event(woken ? EventKind::wait_end : EventKind::wait_timeout, entry);
      return;
    }
    case HEDDLE_SYNC_barrier_wait: {
      const bool last = result == 0xffffffff;  // PTHREAD_BARRIER_SERIAL_THREAD
      if (last) arrived_last();
      if (well || last) sync_event(EventKind::barrier_leave, entry, object);
      return;
    }
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_timedwait:
      sync_event(well                   ? EventKind::semaphore_wait
                 : last_error_ != EINTR ? EventKind::semaphore_failed
                                        : EventKind::sync,
                 entry, object);
      return;
    case HEDDLE_SYNC_mutex_init:
      sync_event(EventKind::init, entry, object);
      note_mutex_kind(call, object);
      return;
    case HEDDLE_SYNC_attribute:
      note_attribute(call);
      return;
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
      sync_event(result != 0 ? EventKind::once_begin : EventKind::once_passed, entry, object);
      return;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
    case HEDDLE_SYNC_thread_join_cxx:
      if (!well) return;
      if (const auto thread = around_.joined.join(object, returned.tsc))
        sync_event(EventKind::join, entry, *thread);
      return;
    case HEDDLE_SYNC_once:
      sync_event(once_runs_.erase(object) != 0 ? EventKind::once_done : EventKind::once_passed, entry, object);
      return;
    default:
      return;
  }
}

}  // namespace heddle
