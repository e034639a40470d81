// Locks that threads hold at each event of a run.
#pragma once

#include <map>
#include <vector>

#include "abi/control.h"

namespace heddle {

class LocksOfRun {
 public:
  using Set = std::vector<std::pair<uint64_t, size_t>>;  // lock, and the event that took it

  LocksOfRun(const std::vector<heddle_event>& events, size_t threads);

  // Before the event is performed, by the thread that does.
  const Set& at(size_t event) const { return sets_[at_[event]]; }
  // Where the thread of `event` can be stopped so that that of `other` comes to its own: before the locks are
  // taken that both hold.
  size_t outside(size_t event, size_t other) const;

 private:
  uint32_t intern(const Set& held);

  std::vector<Set> sets_;
  std::map<Set, uint32_t> numbers_;
  std::vector<uint32_t> at_;
};

}  // namespace heddle
