// What a controlled run did to memory that its threads share, for people: which variable, and which value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/executor.h"

namespace heddle {

struct StoryEvent {
  size_t step = 0;  // of the run's schedule
  std::optional<CodePlace> place;
  std::string what;  // "reads balance: 100"
};

// The accesses to memory that more than one thread accesses and one of them writes, in their order. Of runs
// with ExecutionPlan::keep_events; of others nothing.
std::vector<StoryEvent> event_story(const Execution& run, const CodeNames& names);

}  // namespace heddle
