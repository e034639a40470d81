// Synchronisation objects: when operations are possible, what comes of them.
#include <algorithm>
#include <cerrno>

#include "explore/machine.h"

namespace heddle {
namespace {

constexpr uint64_t kSerialThread = UINT64_MAX;  // PTHREAD_BARRIER_SERIAL_THREAD
enum MutexKind : uint32_t { kRecursive = 1, kErrorChecking = 2, kTypeMask = 3, kRobust = 16 };
constexpr uint32_t kKindMask = kTypeMask | kRobust;

bool has_type(const SyncObject& mutex, MutexKind type) {
  return (mutex.kind & kTypeMask) == type;
}

// Who held a robust mutex has ended.
bool is_orphaned(const MachineState& state, const SyncObject& mutex) {
  return (mutex.kind & kRobust) != 0 && mutex.holder != 0 && state.threads[mutex.holder - 1].over;
}

bool can_claim(const MachineState& state, const SyncObject& mutex, uint32_t owner) {
  return mutex.holder == 0 || is_orphaned(state, mutex) ||
         (mutex.holder == owner && (mutex.kind & kTypeMask) != 0);
}

// Readers of a lock that prefers writers wait while writers wait (rwlock.c).
constexpr uint32_t kPrefersWriters = 2;  // PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP

bool is_readable(const SyncObject& lock) {
  return lock.holder == 0 && (lock.kind != kPrefersWriters || lock.arrived == 0);
}

bool is_writable(const SyncObject& lock) {
  return lock.holder == 0 && lock.count == 0;
}

bool is_signalled(const SyncObject& condition, uint32_t owner) {
  const auto waiter = std::ranges::find(condition.queue, owner);
  return std::find(waiter, condition.queue.end(), 0u) != condition.queue.end();
}

void release(SyncObject& mutex) {
  if (has_type(mutex, kRecursive) && mutex.count > 1) {
    --mutex.count;
    return;
  }
  mutex.holder = 0;
  mutex.count = 0;
}

void claim(SyncObject& mutex, uint32_t owner) {
  mutex.holder = owner;
  ++mutex.count;
}

// How many more a wake-up can wake.
uint64_t room(const SyncObject& object) {
  const auto signals = std::ranges::count(object.queue, 0u);
  return static_cast<uint64_t>(std::ssize(object.queue) - 2 * signals);
}

// The table of keys has those in use in its queue, sorted. As the runtime: the first that is free is made.
uint32_t first_free(const std::vector<uint32_t>& used) {
  uint32_t out = 0;
  while (out < used.size() && used[out] == out) ++out;
  return out;
}

bool has_ended(const MachineState& state, uint64_t thread) {
  return thread < state.threads.size() && state.threads[thread].over;
}

bool is_timed(const Operation& operation, bool waits) {
  switch (operation.sync()) {
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_sleep:
      return waits;
    case HEDDLE_SYNC_futex:
      return operation.size == HEDDLE_PART_timed_go_on;
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_thread_timedjoin:
      return true;
    default:
      return false;
  }
}

}  // namespace

// What the thread returned is news to who asks for it.
uint64_t OperationalMachine::joined_input(const Operation& operation, uint64_t result) {
  return operation.size == HEDDLE_PART_result ? hash_of({result}).low : 0;
}

// It was cancelled, and what it is about to do is a wait that ends then: of those that are two events, the
// second.
bool OperationalMachine::ends_by_cancellation(const MachineState& state, uint32_t thread) const {
  const ThreadState& self = state.threads[thread];
  const Operation& operation = behaviour_.node(self.node).operation;
  if (!self.cancelled || !operation.is_sync() || operation.order != HEDDLE_SYNC_cancellable) return false;
  switch (operation.sync()) {
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_sleep:
      return self.waits && !self.woken;
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_timedjoin:
      return true;
    default:
      return false;
  }
}

// Who waits for a condition and is cancelled is not one whom a signal wakes (waiters.h), unless one did so for
// sure.
void OperationalMachine::cancel(MachineState& state, uint32_t thread) const {
  ThreadState& target = state.threads[thread];
  if (target.over) return;
  target.cancelled = true;
  const Operation& operation = behaviour_.node(target.node).operation;
  if (!ends_by_cancellation(state, thread) || operation.address == 0) return;
  std::vector<uint32_t>& queue = state.objects.get(operation.address).queue;
  const auto waiter = std::ranges::find(queue, thread + 1);
  if (waiter == queue.end()) return;
  const auto signals = std::ranges::count(queue, 0u);
  target.woken = signals > 0;
  state.is_unclear |= signals > 0 && std::ssize(queue) != 2;
  queue.erase(waiter);
  if (target.woken) queue.erase(std::ranges::find(queue, 0u));
}

bool OperationalMachine::can_go_on(const MachineState& state, uint32_t thread) const {
  if (thread >= state.threads.size() || state.exited) return false;
  const ThreadState& self = state.threads[thread];
  if (!self.there || self.over) return false;
  const Behaviour::Node& node = behaviour_.node(self.node);
  if (node.state != Behaviour::State::goes_on) return false;
  const Operation& operation = node.operation;
  if (!operation.is_sync()) return true;
  const SyncObject& object = object_at(state, operation.address);
  const uint32_t owner = thread + 1;
  const bool leaves = ends_by_cancellation(state, thread);
  const auto is_awake = [&] { return self.woken || self.timed_out || leaves || is_signalled(object, owner); };
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_timedlock:
      return self.timed_out || can_claim(state, object, owner);
    case HEDDLE_SYNC_spin_lock:
      return object.holder == 0;
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
      return self.timed_out || is_readable(object);
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      return self.timed_out || is_writable(object) || (object.kind == kPrefersWriters && !self.waits);
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
      return !self.waits || (is_awake() && can_claim(state, object_at(state, operation.second), owner));
    case HEDDLE_SYNC_futex:
      return !self.waits || is_awake();
    case HEDDLE_SYNC_sleep:
      return !self.waits || self.timed_out || leaves;
    case HEDDLE_SYNC_cond_destroy:
      return object.queue.empty();
    case HEDDLE_SYNC_barrier_wait:
      return self.round == 0 || self.round != object.round + 1;
    case HEDDLE_SYNC_barrier_destroy:
      return object.arrived == 0 && std::ranges::none_of(state.threads, [&](const ThreadState& other) {
               return other.round != 0 && behaviour_.node(other.node).operation.address == operation.address;
             });
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
      return self.timed_out || leaves || object.count > 0;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_timedjoin:
      return self.timed_out || leaves || has_ended(state, operation.second);
    case HEDDLE_SYNC_once:
      return object.holder == 0 || object.holder == owner || object.done;
    case HEDDLE_SYNC_file_wait:
      return is_channel_ready(state, thread, operation);
    case HEDDLE_SYNC_guard_acquire:
      return object.holder == 0 || object.done;
    default:
      return true;
  }
}

bool OperationalMachine::is_kept_back(const MachineState& state, uint32_t thread) const {
  return state.alone != 0 && state.alone != thread + 1 && can_go_on(state, state.alone - 1);
}

bool OperationalMachine::is_enabled(const MachineState& state, uint32_t thread) const {
  return can_go_on(state, thread) && !is_kept_back(state, thread);
}

// A wait that could end otherwise need not run out of time: that it did so earlier, when it could not, leads to
// the same. (A signal that is left to another waiter then: the wait ended before the signal.)
bool OperationalMachine::may_time_out(const MachineState& state, uint32_t thread) const {
  if (thread >= state.threads.size() || state.exited || is_kept_back(state, thread)) return false;
  const ThreadState& self = state.threads[thread];
  if (!self.there || self.over || self.timed_out) return false;
  const Behaviour::Node& node = behaviour_.node(self.node);
  if (node.state != Behaviour::State::goes_on || !node.operation.is_sync()) return false;
  if (ends_by_cancellation(state, thread)) return false;
  if (node.operation.sync() == HEDDLE_SYNC_attribute) return node.operation.size == HEDDLE_PART_choice;
  if (!is_timed(node.operation, self.waits)) return false;
  if (self.waits && node.operation.sync() != HEDDLE_SYNC_rwlock_timedwrlock)
    return !self.woken && !is_signalled(object_at(state, node.operation.address), thread + 1);
  return !can_go_on(state, thread);
}

bool OperationalMachine::waits_with_robust(const MachineState& state, const Operation& operation) {
  return operation.is_sync() &&
         (operation.sync() == HEDDLE_SYNC_cond_wait || operation.sync() == HEDDLE_SYNC_cond_timedwait) &&
         (object_at(state, operation.second).kind & kRobust) != 0;
}

void OperationalMachine::time_out(MachineState& state, uint32_t thread) const {
  ThreadState& self = state.threads[thread];
  self.timed_out = true;
  const Operation& operation = behaviour_.node(self.node).operation;
  if (!self.waits || operation.sync() == HEDDLE_SYNC_sleep) return;
  std::vector<uint32_t>& queue = state.objects.get(operation.address).queue;
  if (const auto waiter = std::ranges::find(queue, thread + 1); waiter != queue.end()) queue.erase(waiter);
}

bool OperationalMachine::comes_in_again(const MachineState& state, uint32_t thread, const Operation& operation,
                                        uint64_t awaited) const {
  const bool timed = operation.is_sync() && awaited != 0 && is_timed(operation, true);
  if (!timed) return input(state, thread, operation) == awaited;
  const SyncObject& object = object_at(state, operation.address);
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_timedlock:
      return !can_claim(state, object, thread + 1);
    case HEDDLE_SYNC_rwlock_timedrdlock:
      return !is_readable(object);
    case HEDDLE_SYNC_rwlock_timedwrlock:
      return !is_writable(object);
    case HEDDLE_SYNC_sem_timedwait:
      return object.count == 0;
    case HEDDLE_SYNC_thread_timedjoin:
      return !has_ended(state, operation.second);
    default:
      return true;  // a signal that comes is a change
  }
}

bool OperationalMachine::begins_alone(const MachineState& state, uint32_t thread) const {
  if (!is_enabled(state, thread)) return false;
  const Operation& operation = behaviour_.node(state.threads[thread].node).operation;
  return operation.is_sync() && operation.sync() == HEDDLE_SYNC_attribute &&
         operation.size == HEDDLE_PART_atomic_begin;
}

std::optional<uint64_t> OperationalMachine::sync_input(const MachineState& state, uint32_t thread,
                                                       const Operation& operation) const {
  const ThreadState& self = state.threads[thread];
  const SyncObject& object = object_at(state, operation.address);
  const uint32_t owner = thread + 1;
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_timedlock:
      if (self.timed_out) return ETIMEDOUT;
      if (is_orphaned(state, object)) return EOWNERDEAD;
      if (object.holder == 0 && object.done) return ENOTRECOVERABLE;
      return object.holder == owner && has_type(object, kErrorChecking) ? EDEADLK : 0;
    case HEDDLE_SYNC_mutex_trylock:
      if (is_orphaned(state, object)) return EOWNERDEAD;
      if (object.holder == 0) return object.done ? ENOTRECOVERABLE : 0;
      if (object.holder != owner) return EBUSY;
      if (has_type(object, kErrorChecking) && (object.kind & kRobust) != 0) return EDEADLK;
      return has_type(object, kRecursive) ? 0 : EBUSY;
    case HEDDLE_SYNC_mutex_unlock:
      return object.kind != 0 && object.holder != owner ? EPERM : 0;
    case HEDDLE_SYNC_spin_trylock:
      return object.holder == 0 ? 0 : EBUSY;
    case HEDDLE_SYNC_rwlock_tryrdlock:
      return is_readable(object) ? 0 : EBUSY;
    case HEDDLE_SYNC_rwlock_trywrlock:
      return is_writable(object) ? 0 : EBUSY;
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:  // of a lock that prefers writers: asked, and has to wait
      if (self.timed_out) return ETIMEDOUT;
      return is_writable(object) ? 0 : EBUSY;
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_cond_timedwait:
      return self.timed_out ? ETIMEDOUT : 0;
    case HEDDLE_SYNC_barrier_wait:
      return self.round == 0 && object.arrived + 1 == object.count ? kSerialThread : 0;
    case HEDDLE_SYNC_sem_trywait:
      return object.count > 0 ? 0 : kRefused;
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
      return self.timed_out || ends_by_cancellation(state, thread) ? kRefused : 0;
    case HEDDLE_SYNC_sem_getvalue:
      return object.count;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
      if (ends_by_cancellation(state, thread) && (self.timed_out || !has_ended(state, operation.second)))
        return ECANCELED;
      if (self.timed_out) return ETIMEDOUT;
      if (!has_ended(state, operation.second)) return EBUSY;
      return joined_input(operation, state.threads[operation.second].result);
    case HEDDLE_SYNC_thread_end:  // the last one goes on to end the process
      return std::ranges::count_if(state.threads,
                                   [](const ThreadState& other) { return other.there && !other.over; }) == 1;
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
      return object.holder == 0 && !object.done && !done_before_.contains(operation.address);
    case HEDDLE_SYNC_futex:
      switch (operation.size) {
        case HEDDLE_PART_compare:
        case HEDDLE_PART_timed_compare: {
          const std::optional<uint64_t> word = load(state, thread, operation.address, 4);
          if (!word) return std::nullopt;
          return *word == operation.second ? 0 : kRefused;
        }
        case HEDDLE_PART_wake:
          return std::min(operation.second, room(object));
        default:
          return self.timed_out ? kRefused : 0;
      }
    case HEDDLE_SYNC_key_create:
      if (!first_key_) return std::nullopt;
      return *first_key_ + first_free(object_at(state, kTableOfKeys).queue);
    case HEDDLE_SYNC_key_delete: {
      const std::vector<uint32_t>& used = object_at(state, kTableOfKeys).queue;
      return first_key_ && std::ranges::binary_search(used, operation.second - *first_key_) ? 0 : EINVAL;
    }
    case HEDDLE_SYNC_attribute:
      return operation.size == HEDDLE_PART_choice && self.timed_out;
    default:
      return 0;
  }
}

void OperationalMachine::apply_sync(MachineState& state, uint32_t thread, const Operation& operation,
                                    uint64_t in, uint64_t output) const {
  ThreadState& self = state.threads[thread];
  const uint32_t owner = thread + 1;
  const auto object = [&]() -> SyncObject& { return state.objects.get(operation.address); };
  const auto stop_waiting = [&] {
    std::vector<uint32_t>& queue = object().queue;
    const auto waiter = std::ranges::find(queue, owner);
    const auto signal = std::find(waiter, queue.end(), 0u);
    if (!self.woken && !self.timed_out && signal != queue.end()) {
      queue.erase(signal);
      queue.erase(std::ranges::find(queue, owner));
    }
    self.waits = self.woken = self.timed_out = false;
  };
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_init:
      object() = {.address = operation.address, .kind = static_cast<uint32_t>(output) & kKindMask};
      return;
    case HEDDLE_SYNC_cond_init:
    case HEDDLE_SYNC_spin_init:
      object() = {.address = operation.address};
      return;
    case HEDDLE_SYNC_rwlock_init:
      object() = {.address = operation.address, .kind = static_cast<uint32_t>(output)};
      return;
    case HEDDLE_SYNC_sem_init:
    case HEDDLE_SYNC_barrier_init:
      object() = {.address = operation.address, .count = static_cast<uint32_t>(output)};
      return;
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_mutex_trylock:
      object().kind = static_cast<uint32_t>(output) & kKindMask;
      if (in == EOWNERDEAD) object().holder = object().count = 0;
      if (in == EOWNERDEAD) claim(object(), owner);
      [[fallthrough]];
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
      self.timed_out = false;
      if (in == 0) claim(object(), owner);
      return;
    case HEDDLE_SYNC_mutex_unlock:
      if ((output & HEDDLE_MUTEX_LOST) != 0) object().done = true;
      [[fallthrough]];
    case HEDDLE_SYNC_spin_unlock:
      if (in == 0) release(object());
      return;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
      if (!self.waits) {
        release(state.objects.get(operation.second));
        self.waits = true;
        if (!ends_by_cancellation(state, thread)) object().queue.push_back(owner);
        return;
      }
      stop_waiting();
      claim(state.objects.get(operation.second), owner);
      return;
    case HEDDLE_SYNC_cond_signal:
      if (room(object()) > 0) object().queue.push_back(0);
      return;
    case HEDDLE_SYNC_cond_broadcast:
      for (const uint32_t waiter : object().queue)
        if (waiter != 0) state.threads[waiter - 1].woken = true;
      object().queue.clear();
      return;
    case HEDDLE_SYNC_futex:
      switch (operation.size) {
        case HEDDLE_PART_compare:
        case HEDDLE_PART_timed_compare:
          if (in != 0) return;
          object().queue.push_back(owner);
          self.waits = true;
          return;
        case HEDDLE_PART_wake:
          object().queue.insert(object().queue.end(), in, 0);
          return;
        default:
          return stop_waiting();
      }
    case HEDDLE_SYNC_sleep:
      self.waits = !self.waits;
      self.timed_out = false;
      return;
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
      object().kind = static_cast<uint32_t>(output);
      self.timed_out = false;
      if (in == 0) ++object().count;
      return;
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      object().kind = static_cast<uint32_t>(output);
      if (self.waits) --object().arrived;
      self.waits = in == EBUSY;
      if (self.waits) ++object().arrived;
      [[fallthrough]];
    case HEDDLE_SYNC_rwlock_trywrlock:
      self.timed_out = false;
      if (in == 0) object().holder = owner;
      return;
    case HEDDLE_SYNC_rwlock_unlock:
      if (object().holder == owner)
        object().holder = 0;
      else if (object().count > 0)
        --object().count;
      return;
    case HEDDLE_SYNC_barrier_wait: {
      if (self.round != 0) {
        self.round = 0;
        return;
      }
      SyncObject& barrier = object();
      if (++barrier.arrived < barrier.count) {
        self.round = barrier.round + 1;
        return;
      }
      barrier.arrived = 0;
      ++barrier.round;
      return;
    }
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_sem_trywait:
      self.timed_out = false;
      if (in == 0) --object().count;
      return;
    case HEDDLE_SYNC_sem_post:
      ++object().count;
      return;
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
      if (object().holder == owner)
        object() = {.address = operation.address, .done = true};
      else if (in != 0)
        object().holder = owner;
      return;
    case HEDDLE_SYNC_guard_release:
      object() = {.address = operation.address, .done = true};
      store(state, operation.address, 1, 1);  // compiled code looks there before it asks (once.c)
      return;
    case HEDDLE_SYNC_guard_abort:
      object() = {.address = operation.address};
      return;
    case HEDDLE_SYNC_thread_create:
      if (in != 0) return;
      if (state.threads.size() <= operation.second) state.threads.resize(operation.second + 1);
      state.threads[operation.second].there = true;
      state.threads[operation.second].node = behaviour_.root(static_cast<uint32_t>(operation.second));
      return;
    case HEDDLE_SYNC_thread_timedjoin:
      self.timed_out = false;
      return;
    case HEDDLE_SYNC_thread_cancel:
      return cancel(state, static_cast<uint32_t>(operation.second));
    case HEDDLE_SYNC_thread_end:
      self.over = in == 0;
      self.result = output;
      return;
    case HEDDLE_SYNC_key_create:
      store(state, operation.address, 4, in);
      if (std::vector<uint32_t>& used = state.objects.get(kTableOfKeys).queue; true)
        used.insert(used.begin() + first_free(used), first_free(used));
      return;
    case HEDDLE_SYNC_key_delete:
      if (in == 0) std::erase(state.objects.get(kTableOfKeys).queue, operation.second - *first_key_);
      return;
    case HEDDLE_SYNC_attribute:
      self.timed_out = false;
      if (operation.size == HEDDLE_PART_atomic_begin) {
        state.alone = owner;
        ++self.alone;
      }
      if (operation.size == HEDDLE_PART_atomic_end && self.alone > 0 && --self.alone == 0) state.alone = 0;
      return;
    default:
      return;
  }
}

}  // namespace heddle
