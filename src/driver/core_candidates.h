// Points of a passing run where a thread may be preempted, with what the search wants to know of each.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "driver/core_passing.h"

namespace heddle {

struct PreemptionPoint {
  size_t event = 0;  // of the run: the thread would perform it next
  uint32_t thread = 0;
  uint64_t weight = 0;
  std::set<size_t> critical;  // variables that are accessed from here to the thread's next synchronisation
};

struct PreemptionPoints {
  std::vector<PreemptionPoint> points;  // in the order of the run
  uint64_t lowest = 0;                  // weight of points with no critical access
  // By thread: variables that it accesses at or behind an event.
  std::vector<std::vector<std::pair<size_t, size_t>>> accesses;  // event, variable

  bool accesses_later(uint32_t thread, size_t event, const std::set<size_t>& variables) const;
};

// `in_order`: for the baseline, all synchronisation operations and shared accesses of the whole run, without
// weights.
PreemptionPoints preemption_points(const PassingRun& run, bool in_order);

// Which variables an event accesses.
std::vector<size_t> critical_in(const heddle_event& event, const std::vector<CriticalVariable>& variables);

}  // namespace heddle
