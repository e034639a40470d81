// What a search knows of a problem before it begins; shared by all that search.
#pragma once

#include <vector>

#include "solve/live_values.h"
#include "solve/order_needs.h"
#include "solve/resources.h"

namespace heddle {

struct SearchPlan {
  explicit SearchPlan(const Problem& of);

  const Problem* problem;  // outlives this
  OrderNeeds needs;
  Resources resources;
  std::vector<LivePlan> values;                 // by thread
  std::vector<std::vector<uint32_t>> step_end;  // by thread and event: one behind the last of its step
  // By thread: how many of its events have to be done, whatever else is. If it cannot get there, there is no
  // failure.
  std::vector<uint32_t> needed;
  std::vector<std::vector<uint64_t>>
      times;  // by thread and event: about when it was in the recording, if known
};

}  // namespace heddle
