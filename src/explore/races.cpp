#include "explore/races.h"

#include <algorithm>
#include <cerrno>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

constexpr uint64_t kLargestRange = 4096;  // bytes of one access that are looked at
constexpr uint64_t kFiles = 1;            // all of them, as one object: no address

bool releases(uint8_t order) {
  return order == HEDDLE_ORDER_release || order == HEDDLE_ORDER_acq_rel || order == HEDDLE_ORDER_seq_cst;
}

bool acquires(uint8_t order) {
  return order == HEDDLE_ORDER_acquire || order == HEDDLE_ORDER_acq_rel || order == HEDDLE_ORDER_seq_cst ||
         order == HEDDLE_ORDER_consume;
}

}  // namespace

void RaceFinder::join(VectorClock& into, const VectorClock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void RaceFinder::acquire(uint32_t thread, uint64_t object) {
  if (const auto found = objects_.find(object); found != objects_.end()) join(clocks_[thread], found->second);
}

void RaceFinder::release(uint32_t thread, uint64_t object) {
  join(objects_[object], clocks_[thread]);
  ++clocks_[thread][thread];
}

void RaceFinder::synchronise(const heddle_event& event, const Execution& run) {
  const uint32_t thread = event.thread;
  switch (event.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_thread_create:
      creations_[{thread, created_[thread]++}] = clocks_[thread];
      ++clocks_[thread][thread];
      return;
    case HEDDLE_SYNC_thread_begin: {
      const ThreadName& name = run.schedule.threads[thread].name;
      for (uint32_t t = 0; t < run.schedule.threads.size() && !name.is_main(); ++t)
        if (run.schedule.threads[t].name == name.parent())
          join(clocks_[thread], creations_[{t, static_cast<uint32_t>(name.index_in_parent())}]);
      return;
    }
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
      if (event.after == 0 && event.second < clocks_.size()) join(clocks_[thread], clocks_[event.second]);
      return;
    case HEDDLE_SYNC_thread_end:  // robust mutexes are left to others
      if (what_ == What::are)
        for (const uint64_t lock : locks_[thread]) release(thread, lock);
      return;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:  // both of its events: the mutex is given up and taken again
      if (what_ == What::are) {
        release(thread, event.second);
        acquire(thread, event.second);
      }
      acquire(thread, event.address);
      return;
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      if (event.after != 0 && event.after != EOWNERDEAD) return;
      locks_[thread].insert(event.address);
      return what_ == What::are ? acquire(thread, event.address) : void();
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_spin_unlock:
    case HEDDLE_SYNC_rwlock_unlock:
      locks_[thread].erase(event.address);
      return what_ == What::are ? release(thread, event.address) : void();
    case HEDDLE_SYNC_file_wait:  // the other end of a pipe may have another descriptor
      acquire(thread, kFiles);
      return release(thread, kFiles);
    default:
      if (event.address == 0) return;
      acquire(thread, event.address);
      return release(thread, event.address);
  }
}

void RaceFinder::access(const heddle_event& event, size_t number, uint64_t address, uint64_t size, bool writes,
                        bool atomic, const Execution& run) {
  const uint32_t thread = event.thread;
  const Access now{.thread = thread,
                   .time = clocks_[thread][thread],
                   .side = {.site = event.site,
                            .thread = run.schedule.threads[thread].name,
                            .writes = writes,
                            .atomic = atomic,
                            .locks = {locks_[thread].begin(), locks_[thread].end()},
                            .event = number}};
  for (uint64_t byte = address; byte < address + std::min(size, kLargestRange); ++byte) {
    Cell& cell = cells_[byte];
    for (const Access& before : cell.accesses) {
      const bool ordered = before.thread == thread || before.time < (before.thread < clocks_[thread].size()
                                                                         ? clocks_[thread][before.thread] + 1
                                                                         : uint64_t{1});
      if (ordered || (!writes && !before.side.writes) || (what_ == What::are && atomic && before.side.atomic))
        continue;
      if (!pairs_.insert(std::minmax(before.side.site, event.site)).second) continue;
      found_.push_back({.first = before.side,
                        .second = now.side,
                        .address = address,
                        .size = size,
                        .load_base = run.load_base,
                        .schedule = what_ == What::are ? run.schedule : Schedule{}});
    }
    // Earlier accesses of the same kind by the same thread say nothing more than this one.
    std::erase_if(cell.accesses, [&](const Access& before) {
      return before.thread == thread && before.side.writes == writes && before.side.atomic == atomic &&
             (what_ == What::are || before.side.site == event.site);
    });
    cell.accesses.push_back(now);
  }
}

void RaceFinder::look_at(const Execution& run) {
  const size_t count = run.schedule.threads.size();
  clocks_.assign(count, VectorClock(count));
  for (size_t i = 0; i < count; ++i) clocks_[i][i] = 1;
  locks_.assign(count, {});
  created_.assign(count, 0);
  creations_.clear();
  objects_.clear();
  cells_.clear();
  has_fences_ = std::ranges::any_of(run.kept_events,
                                    [](const heddle_event& each) { return each.kind == HEDDLE_EVENT_fence; });
  size_t data = 0;
  for (size_t i = 0; i < run.kept_events.size(); ++i) {
    const heddle_event& event = run.kept_events[i];
    if (event.thread >= count) return;
    const size_t first = data;
    while (data < run.event_data.size() && run.event_data[data].after == i) ++data;
    if (event.kind >= HEDDLE_EVENT_sync) {
      const auto move = [&](bool writes) {  // between memory and a pipe
        for (size_t k = first; k < data; ++k)
          if ((run.event_data[k].order != 0) == writes)
            access(event, i, run.event_data[k].address, run.event_data[k].size, writes, false, run);
      };
      move(false);
      synchronise(event, run);
      move(true);
      continue;
    }
    const bool atomic = event.kind != HEDDLE_EVENT_call && event.order != HEDDLE_ORDER_plain;
    switch (event.kind) {
      case HEDDLE_EVENT_read:
      case HEDDLE_EVENT_write:
      case HEDDLE_EVENT_update: {
        const bool reads = event.kind != HEDDLE_EVENT_write, writes = event.kind != HEDDLE_EVENT_read;
        if (atomic && reads && (has_fences_ || acquires(event.order))) acquire(event.thread, event.address);
        access(event, i, event.address, event.size, writes, atomic, run);
        if (atomic && writes && (has_fences_ || releases(event.order))) release(event.thread, event.address);
        break;
      }
      case HEDDLE_EVENT_call:
        if (event.order == HEDDLE_CALL_frees)
          for (uint64_t byte = event.address; byte < event.address + std::min(event.size, kLargestRange);
               ++byte)
            cells_.erase(byte);
        for (size_t k = first; k < data; ++k)
          access(event, i, run.event_data[k].address, run.event_data[k].size, run.event_data[k].order != 0,
                 false, run);
        break;
      default:
        break;
    }
  }
}

}  // namespace heddle
