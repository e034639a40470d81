// What the baseline (CHESS) tries first, without what changes nothing. A preemption before an event that
// conflicts with nothing that the other thread does later in the run is the same as one behind it; where that
// thread comes next anyway, the run is the same. What is left of the baseline's first tries is less than these
// are, so the search can make them as well in as many tries, and spend the others on what the core says.
#pragma once

#include <vector>

#include "driver/run_conflicts.h"

namespace heddle {

struct BaselineTry {
  size_t event = 0;     // of the run: before the last one where it is the same
  uint32_t next = 0;    // goes on there
  uint64_t number = 0;  // among the baseline's tries, from 1; at least
};

// Those among its first `most` tries, in its order.
std::vector<BaselineTry> first_of_baseline(const RunConflicts& run, uint64_t most);

}  // namespace heddle
