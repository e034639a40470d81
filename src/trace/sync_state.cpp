#include "trace/sync_state.h"

#include <algorithm>

namespace heddle {
namespace {

template <class T>
T state_of(const std::unordered_map<uint64_t, T>& objects, uint64_t address) {
  const auto found = objects.find(address);
  return found == objects.end() ? T{} : found->second;
}

// The first of the blocks that ends after the address.
auto first_after(const std::map<uint64_t, uint64_t>& blocks, uint64_t address) {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return next;
  const auto before = std::prev(next);
  return address - before->first < before->second ? before : next;
}

bool overlaps(const std::map<uint64_t, uint64_t>& blocks, uint64_t address, uint64_t size) {
  const auto block = first_after(blocks, address);
  return block != blocks.end() && (block->first <= address || block->first - address < size);
}

}  // namespace

SyncState::SyncState(const Trace& trace) : threads_(trace.threads.size()) {
  for (Thread& thread : threads_) thread.created = true;
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events)
      if (event.kind == EventKind::create) threads_[event.address].created = false;
}

uint64_t SyncState::semaphore(uint64_t address) const {
  return state_of(semaphores_, address);
}

bool SyncState::is_released(uint64_t address) const {
  const auto block = first_after(released_, address);
  return block != released_.end() && block->first <= address;
}

// ---- what can be done

bool SyncState::can_lock(uint32_t thread, uint64_t mutex, bool recursive) const {
  const uint32_t holder = state_of(mutexes_, mutex).holder;
  return holder == kNobody || (recursive && holder == thread);
}

bool SyncState::can_end_wait(uint32_t thread, const Event& event) const {
  const Thread& waiter = threads_[thread];
  if (!waiter.waits || !can_lock(thread, event.second, event.recursive)) return false;
  if (event.kind == EventKind::wait_timeout) return true;
  const auto condition = conditions_.find(event.address);
  return condition != conditions_.end() && condition->second.is_woken(waiter.wait_began);
}

bool SyncState::can_arrive(const Event& event) const {
  const Barrier barrier = state_of(barriers_, event.address);
  return barrier.count == 0 || (barrier.arrived + 1 == barrier.count) == (event.second != 0);
}

bool SyncState::is_free(uint64_t address, uint64_t size) const {
  return !overlaps(blocks_, address, std::max<uint64_t>(size, 1));
}

bool SyncState::is_enabled(uint32_t thread, const Event& event) const {
  const uint64_t at = event.address;
  switch (event.kind) {
    case EventKind::lock:
      return can_lock(thread, at, event.recursive);
    case EventKind::lock_failed:
      return !can_lock(thread, at, event.recursive);
    case EventKind::unlock:
    case EventKind::wait_begin: {
      const uint64_t mutex = event.kind == EventKind::unlock ? at : event.second;
      return !event.recursive || state_of(mutexes_, mutex).holder == thread;
    }
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return can_end_wait(thread, event);
    case EventKind::read_lock:
      return state_of(locks_, at).writer == kNobody;
    case EventKind::read_lock_failed:
      return state_of(locks_, at).writer != kNobody;
    case EventKind::read_unlock:
      return state_of(locks_, at).readers > 0;
    case EventKind::write_lock:
      return state_of(locks_, at).writer == kNobody && state_of(locks_, at).readers == 0;
    case EventKind::write_lock_failed:
      return state_of(locks_, at).writer != kNobody || state_of(locks_, at).readers > 0;
    case EventKind::write_unlock:
      return state_of(locks_, at).writer == thread;
    case EventKind::barrier_arrive:
      return can_arrive(event);
    case EventKind::barrier_leave: {
      const Barrier barrier = state_of(barriers_, at);
      return barrier.count == 0 || threads_[thread].last || barrier.round != threads_[thread].round;
    }
    case EventKind::semaphore_wait:
      return semaphore(at) > 0;
    case EventKind::semaphore_failed:
      return semaphore(at) == 0;
    case EventKind::join:
      return threads_[at].exited;
    case EventKind::once_begin:
      return !state_of(onces_, at).done && state_of(onces_, at).runner == kNobody;
    case EventKind::once_done:
      return state_of(onces_, at).runner == thread;
    case EventKind::once_passed:
      return state_of(onces_, at).done;
    case EventKind::destroy:
      return state_of(barriers_, at).arrived == 0 && state_of(barriers_, at).inside == 0;
    case EventKind::allocate:
      return is_free(at, event.size);
    case EventKind::release:
      return !is_released(at);
    default:
      return true;
  }
}

// ---- doing it

void SyncState::lock(uint32_t thread, uint64_t mutex) {
  Mutex& state = mutexes_[mutex];
  state.holder = thread;
  ++state.levels;
}

void SyncState::unlock(uint64_t mutex, bool recursive) {
  Mutex& state = mutexes_[mutex];
  if (recursive && --state.levels > 0) return;
  state = {};
}

void SyncState::forget(uint64_t address) {
  mutexes_.erase(address);
  locks_.erase(address);
  semaphores_.erase(address);
  onces_.erase(address);
  const auto barrier = barriers_.find(address);
  if (barrier != barriers_.end()) barrier->second.count = 0;
}

void SyncState::perform_wait(uint32_t thread, const Event& event) {
  Thread& waiter = threads_[thread];
  ConditionState& condition = conditions_[event.address];
  if (event.kind == EventKind::wait_begin) {
    unlock(event.second, event.recursive);
    waiter.waits = true;
    waiter.wait_began = ++time_;
    condition.begin_wait();
    return;
  }
  condition.end_wait(waiter.wait_began, event.kind == EventKind::wait_end);
  waiter.waits = false;
  lock(thread, event.second);
}

void SyncState::perform_barrier(uint32_t thread, const Event& event) {
  Barrier& barrier = barriers_[event.address];
  Thread& state = threads_[thread];
  if (barrier.count == 0) return;
  if (event.kind == EventKind::barrier_leave) {
    if (!state.last && barrier.inside > 0) --barrier.inside;
    return;
  }
  state.round = barrier.round;
  state.last = ++barrier.arrived == barrier.count;
  if (!state.last) {
    ++barrier.inside;
    return;
  }
  barrier.arrived = 0;
  ++barrier.round;
}

void SyncState::perform_block(const Event& event) {
  const uint64_t at = event.address, size = std::max<uint64_t>(event.size, 1);
  if (event.kind == EventKind::allocate) {
    for (auto old = first_after(released_, at);
         old != released_.end() && (old->first <= at || old->first - at < size);)
      old = released_.erase(old);
    blocks_[at] = size;
    return;
  }
  const auto block = blocks_.find(at);
  released_[at] = block == blocks_.end() ? size : block->second;
  if (block != blocks_.end()) blocks_.erase(block);
}

void SyncState::perform(uint32_t thread, const Event& event) {
  const uint64_t at = event.address;
  switch (event.kind) {
    case EventKind::lock:
      return lock(thread, at);
    case EventKind::unlock:
      return unlock(at, event.recursive);
    case EventKind::wait_begin:
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return perform_wait(thread, event);
    case EventKind::signal:
      return conditions_[at].signal(++time_);
    case EventKind::broadcast:
      return conditions_[at].broadcast(++time_);
    case EventKind::read_lock:
      ++locks_[at].readers;
      return;
    case EventKind::read_unlock:
      --locks_[at].readers;
      return;
    case EventKind::write_lock:
      locks_[at].writer = thread;
      return;
    case EventKind::write_unlock:
      locks_[at].writer = kNobody;
      return;
    case EventKind::barrier_arrive:
    case EventKind::barrier_leave:
      return perform_barrier(thread, event);
    case EventKind::semaphore_wait:
      --semaphores_[at];
      return;
    case EventKind::semaphore_post:
      ++semaphores_[at];
      return;
    case EventKind::create:
      threads_[at].created = true;
      return;
    case EventKind::exit:
      threads_[thread].exited = true;
      return;
    case EventKind::once_begin:
      onces_[at].runner = thread;
      return;
    case EventKind::once_done:
      onces_[at] = {.done = event.second == 0};
      return;
    case EventKind::init:
      forget(at);
      semaphores_[at] = barriers_[at].count = event.second;
      return;
    case EventKind::destroy:
      return forget(at);
    case EventKind::allocate:
    case EventKind::release:
      return perform_block(event);
    default:
      return;
  }
}

}  // namespace heddle
