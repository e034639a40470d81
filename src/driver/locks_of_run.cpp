#include "driver/locks_of_run.h"

#include <algorithm>

#include "abi/sync_role.h"

namespace heddle {

LocksOfRun::LocksOfRun(const std::vector<heddle_event>& events, size_t threads) {
  std::vector<Set> now(threads);
  at_.reserve(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const heddle_event& event = events[i];
    Set& held = now[event.thread];
    at_.push_back(intern(held));
    if (event.kind < HEDDLE_EVENT_sync) continue;
    const uint32_t kind = event.kind - HEDDLE_EVENT_sync;
    if (heddle_sync_locks(kind) || (heddle_sync_tries(kind) && event.after == 0)) {
      held.emplace_back(event.address, i);
    } else if (heddle_sync_unlocks(kind)) {
      const auto found = std::find_if(held.rbegin(), held.rend(),
                                      [&](const auto& lock) { return lock.first == event.address; });
      if (found != held.rend()) held.erase(std::next(found).base());
    } else if (kind == HEDDLE_SYNC_cond_wait || kind == HEDDLE_SYNC_cond_timedwait) {
      // The mutex was given back meanwhile.
      for (auto& lock : held)
        if (lock.first == event.second) lock.second = i;
    }
  }
}

size_t LocksOfRun::outside(size_t event, size_t other) const {
  size_t at = event;
  for (const auto& [lock, taken] : LocksOfRun::at(event))
    for (const auto& [theirs, taken_there] : LocksOfRun::at(other))
      if (lock == theirs) at = std::min(at, taken);
  return at;
}

uint32_t LocksOfRun::intern(const Set& held) {
  const auto [found, fresh] = numbers_.try_emplace(held, static_cast<uint32_t>(sets_.size()));
  if (fresh) sets_.push_back(held);
  return found->second;
}

}  // namespace heddle
