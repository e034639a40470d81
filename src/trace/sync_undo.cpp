// The parts of SyncState that a search needs to go back and to know where it has been.
#include <algorithm>

#include "base/result.h"
#include "trace/sync_state.h"

namespace heddle {
namespace {

enum class Touched : uint8_t { nothing, threads, blocks, objects };

Touched touched_by(const Event& event) {
  switch (event.kind) {
    case EventKind::read:
    case EventKind::write:
    case EventKind::update:
    case EventKind::fence:
    case EventKind::start:
    case EventKind::join:
    case EventKind::detach:
    case EventKind::futex_wait:
    case EventKind::futex_wake:
    case EventKind::sync:
      return Touched::nothing;
    case EventKind::create:
    case EventKind::exit:
      return Touched::threads;
    case EventKind::allocate:
    case EventKind::release:
      return Touched::blocks;
    default:
      return Touched::objects;
  }
}

bool is_wait(const Event& event) {
  return event.kind == EventKind::wait_begin || event.kind == EventKind::wait_end ||
         event.kind == EventKind::wait_timeout;
}

// Calls each for the entries of the map that begin in the range or reach into it.
template <class Each>
void for_overlapping(const std::map<uint64_t, uint64_t>& blocks, uint64_t address, uint64_t size, Each each) {
  auto block = blocks.upper_bound(address);
  if (block != blocks.begin() && address - std::prev(block)->first < std::prev(block)->second) --block;
  for (; block != blocks.end() && (block->first <= address || block->first - address < size); ++block)
    each(*block);
}

}  // namespace

SyncState::Part SyncState::part(uint32_t thread, const Event& event) const {
  Part part{.time = time_};
  const uint64_t at = event.address;
  switch (touched_by(event)) {
    case Touched::nothing:
      break;
    case Touched::threads: {
      const uint32_t changed = event.kind == EventKind::create ? static_cast<uint32_t>(at) : thread;
      part.threads.push_back({changed, threads_[changed]});
      break;
    }
    case Touched::blocks: {
      part.has_blocks = true;
      part.address = at;
      part.size = std::max<uint64_t>(event.size, 1);
      if (const auto block = blocks_.find(at); block != blocks_.end()) part.block = block->second;
      for_overlapping(released_, at, part.size, [&](const auto& block) { part.released.push_back(block); });
      break;
    }
    case Touched::objects:
      part.threads.push_back({thread, threads_[thread]});
      part.objects.push_back({at, object(at)});
      if (is_wait(event)) part.objects.push_back({event.second, object(event.second)});
      break;
  }
  return part;
}

void SyncState::restore(const Part& part) {
  time_ = part.time;
  for (const auto& [thread, state] : part.threads) threads_[thread] = state;
  for (const auto& [address, state] : part.objects) objects_[address] = state;
  if (!part.has_blocks) return;
  blocks_.erase(part.address);
  if (part.block) blocks_[part.address] = *part.block;
  released_.erase(part.address);
  released_.insert(part.released.begin(), part.released.end());
}

// Times are only compared with each other: what counts is who waited before which signal.
Hash128 SyncState::hash_of_object(uint64_t address) const {
  const Object& state = object(address);
  Hasher128 hasher;
  for (const uint64_t word :
       {address, uint64_t{state.mutex.holder}, state.mutex.levels, state.lock.readers,
        uint64_t{state.lock.writer}, state.barrier.count, state.barrier.arrived, state.barrier.inside,
        state.barrier.round, state.semaphore, uint64_t{state.once.runner}, uint64_t{state.once.done},
        state.condition.waiters()})
    hasher.add(word);
  if (state.condition.waiters() == 0) return hasher.hash();
  std::vector<std::pair<uint64_t, uint64_t>> moments;  // when, and which thread began to wait
  for (uint32_t t = 0; t < threads_.size(); ++t)
    if (threads_[t].waits && threads_[t].condition == address) moments.push_back({threads_[t].wait_began, t});
  std::ranges::sort(moments);
  const auto& signals = state.condition.signals();
  for (size_t i = 0; i < moments.size(); ++i) {
    const auto [began, thread] = moments[i];
    const auto first = signals.lower_bound(began);
    const auto last = i + 1 < moments.size() ? signals.lower_bound(moments[i + 1].first) : signals.end();
    hasher.add(thread);
    hasher.add(state.condition.last_broadcast() > began);
    hasher.add(static_cast<uint64_t>(std::distance(first, last)));
  }
  return hasher.hash();
}

Hash128 SyncState::hash_of_blocks(const Event& event) const {
  Hash128 hash;
  const auto block = blocks_.find(event.address);
  if (block != blocks_.end()) hash ^= hash_of({'b', block->first, block->second});
  for_overlapping(released_, event.address, std::max<uint64_t>(event.size, 1),
                  [&](const auto& released) { hash ^= hash_of({'r', released.first, released.second}); });
  return hash;
}

// Whether threads are created, have exited or wait is known from where they stand.
Hash128 SyncState::hash(uint32_t thread, const Event& event) const {
  switch (touched_by(event)) {
    case Touched::nothing:
    case Touched::threads:
      return {};
    case Touched::blocks:
      return hash_of_blocks(event);
    case Touched::objects: {
      Hash128 hash =
          hash_of_object(event.address) ^ hash_of({'t', thread, threads_[thread].round, threads_[thread].last});
      if (is_wait(event) && event.second != event.address) hash ^= hash_of_object(event.second);
      return hash;
    }
  }
  HEDDLE_CHECK(false);
  return {};
}

}  // namespace heddle
