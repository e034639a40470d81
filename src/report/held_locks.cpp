#include "report/held_locks.h"

#include <algorithm>

#include "abi/sync_role.h"

namespace heddle {

uint32_t sync_of(const heddle_event& event) {
  return event.kind > HEDDLE_EVENT_sync ? event.kind - HEDDLE_EVENT_sync : HEDDLE_SYNC_none;
}

bool is_wait(const heddle_event& event) {
  const uint32_t sync = sync_of(event);
  return sync == HEDDLE_SYNC_cond_wait || sync == HEDDLE_SYNC_cond_timedwait;
}

uint64_t HeldLocks::taken_by(const heddle_event& event) {
  const uint32_t sync = sync_of(event);
  if (heddle_sync_locks(sync) || heddle_sync_tries(sync) || sync == HEDDLE_SYNC_once ||
      sync == HEDDLE_SYNC_guard_acquire)
    return event.address;
  return is_wait(event) ? event.second : 0;
}

uint64_t HeldLocks::released_by(const heddle_event& event) {
  const uint32_t sync = sync_of(event);
  if (heddle_sync_unlocks(sync) || sync == HEDDLE_SYNC_guard_release || sync == HEDDLE_SYNC_guard_abort)
    return event.address;
  return is_wait(event) ? event.second : 0;
}

HeldLocks::HeldLocks(const RunOrder& order) : order_(order) {
  const size_t threads = order.run().schedule.threads.size();
  by_thread_.resize(std::max<size_t>(threads, 1));
  std::vector<bool> waiting(by_thread_.size());
  for (size_t i = 0; i < order.event_count(); ++i) {
    const heddle_event& event = order.event(i);
    const uint32_t sync = sync_of(event);
    std::vector<size_t>& own = by_thread_[event.thread];
    const bool wakes = is_wait(event) && waiting[event.thread];
    if (is_wait(event)) waiting[event.thread] = !wakes;
    const uint64_t released = wakes ? 0 : released_by(event);
    if (released != 0) {
      const auto span = std::find_if(own.rbegin(), own.rend(), [&](size_t each) {
        return spans_[each].object == released && spans_[each].released == kNoEvent;
      });
      if (span != own.rend()) spans_[*span].released = i;
    }
    const bool refused = event.after != 0 && !is_wait(event);
    const bool remembered = sync == HEDDLE_SYNC_once;  // runs its function between two events of its own
    const uint64_t taken = is_wait(event) && !wakes ? 0 : taken_by(event);
    if (taken == 0 || refused || remembered) continue;
    own.push_back(spans_.size());
    spans_.push_back({.object = taken,
                      .taken = i,
                      .shared = sync == HEDDLE_SYNC_rwlock_rdlock || sync == HEDDLE_SYNC_rwlock_tryrdlock ||
                                sync == HEDDLE_SYNC_rwlock_timedrdlock});
  }
}

std::vector<HeldLock> HeldLocks::at(size_t event) const {
  std::vector<HeldLock> out;
  for (const size_t each : by_thread_[order_.event(event).thread])
    if (spans_[each].taken < event && (spans_[each].released == kNoEvent || spans_[each].released >= event))
      out.push_back(spans_[each]);
  return out;
}

}  // namespace heddle
