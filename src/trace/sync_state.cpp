#include "trace/sync_state.h"

#include <algorithm>

namespace heddle {
namespace {

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

const SyncState::Object& SyncState::object(uint64_t address) const {
  static const Object kUntouched;
  const auto found = objects_.find(address);
  return found == objects_.end() ? kUntouched : found->second;
}

uint64_t SyncState::semaphore(uint64_t address) const {
  return object(address).semaphore;
}

bool SyncState::is_released(uint64_t address) const {
  const auto block = first_after(released_, address);
  return block != released_.end() && block->first <= address;
}

// ---- what can be done

bool SyncState::can_lock(uint32_t thread, uint64_t mutex, bool recursive) const {
  const uint32_t holder = object(mutex).mutex.holder;
  return holder == kNobody || (recursive && holder == thread);
}

bool SyncState::can_end_wait(uint32_t thread, const Event& event) const {
  const Thread& waiter = threads_[thread];
  if (!waiter.waits || !can_lock(thread, event.second, event.recursive)) return false;
  if (event.kind == EventKind::wait_timeout) return true;
  return object(event.address).condition.is_woken(waiter.wait_began);
}

bool SyncState::can_arrive(const Event& event) const {
  const Barrier barrier = object(event.address).barrier;
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
      return !event.recursive || object(mutex).mutex.holder == thread;
    }
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return can_end_wait(thread, event);
    case EventKind::read_lock:
      return object(at).lock.writer == kNobody;
    case EventKind::read_lock_failed:
      return object(at).lock.writer != kNobody;
    case EventKind::read_unlock:
      return object(at).lock.readers > 0;
    case EventKind::write_lock:
      return object(at).lock.writer == kNobody && object(at).lock.readers == 0;
    case EventKind::write_lock_failed:
      return object(at).lock.writer != kNobody || object(at).lock.readers > 0;
    case EventKind::write_unlock:
      return object(at).lock.writer == thread;
    case EventKind::barrier_arrive:
      return can_arrive(event);
    case EventKind::barrier_leave: {
      const Barrier barrier = object(at).barrier;
      return barrier.count == 0 || threads_[thread].last || barrier.round != threads_[thread].round;
    }
    case EventKind::semaphore_wait:
      return semaphore(at) > 0;
    case EventKind::semaphore_failed:
      return semaphore(at) == 0;
    case EventKind::join:
      return threads_[at].exited;
    case EventKind::once_begin:
      return !object(at).once.done && object(at).once.runner == kNobody;
    case EventKind::once_done:
      return object(at).once.runner == thread;
    case EventKind::once_passed:
      return object(at).once.done;
    case EventKind::destroy:
      return object(at).barrier.arrived == 0 && object(at).barrier.inside == 0;
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
  Mutex& state = objects_[mutex].mutex;
  state.holder = thread;
  ++state.levels;
}

void SyncState::unlock(uint64_t mutex, bool recursive) {
  Mutex& state = objects_[mutex].mutex;
  if (recursive && --state.levels > 0) return;
  state = {};
}

void SyncState::forget(uint64_t address) {
  Object& forgotten = objects_[address];
  Object fresh{.condition = std::move(forgotten.condition), .barrier = forgotten.barrier};
  fresh.barrier.count = 0;
  forgotten = std::move(fresh);
}

void SyncState::perform_wait(uint32_t thread, const Event& event) {
  Thread& waiter = threads_[thread];
  ConditionState& condition = objects_[event.address].condition;
  if (event.kind == EventKind::wait_begin) {
    unlock(event.second, event.recursive);
    waiter.waits = true;
    waiter.condition = event.address;
    waiter.wait_began = ++time_;
    condition.begin_wait();
    return;
  }
  condition.end_wait(waiter.wait_began, event.kind == EventKind::wait_end);
  waiter.waits = false;
  lock(thread, event.second);
}

void SyncState::perform_barrier(uint32_t thread, const Event& event) {
  Barrier& barrier = objects_[event.address].barrier;
  Thread& state = threads_[thread];
  if (barrier.count == 0) return;
  if (event.kind == EventKind::barrier_leave) {
    if (!state.last && barrier.inside > 0) --barrier.inside;
    state.round = 0;
    state.last = false;
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
      return objects_[at].condition.signal(++time_);
    case EventKind::broadcast:
      return objects_[at].condition.broadcast(++time_);
    case EventKind::read_lock:
      ++objects_[at].lock.readers;
      return;
    case EventKind::read_unlock:
      --objects_[at].lock.readers;
      return;
    case EventKind::write_lock:
      objects_[at].lock.writer = thread;
      return;
    case EventKind::write_unlock:
      objects_[at].lock.writer = kNobody;
      return;
    case EventKind::barrier_arrive:
    case EventKind::barrier_leave:
      return perform_barrier(thread, event);
    case EventKind::semaphore_wait:
      --objects_[at].semaphore;
      return;
    case EventKind::semaphore_post:
      ++objects_[at].semaphore;
      return;
    case EventKind::create:
      threads_[at].created = true;
      return;
    case EventKind::exit:
      threads_[thread].exited = true;
      return;
    case EventKind::once_begin:
      objects_[at].once.runner = thread;
      return;
    case EventKind::once_done:
      objects_[at].once = {.done = event.second == 0};
      return;
    case EventKind::init:
      forget(at);
      objects_[at].semaphore = objects_[at].barrier.count = event.second;
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
