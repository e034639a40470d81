// From a flow recording to a schedule: one order of all events that keeps to all recorded edges.
//
// Light (section 4.2) gives flow dependences and their non-interference to a solver. The recorder of heddle
// writes down who came after whom wherever accesses conflict, the overwriting ones too (runtime/flow/shadow.c),
// so there is nothing to search: any order that keeps to the edges gives every read the write that it saw. This
// one changes the thread as seldom as is easily found: a thread runs on until it has to wait for another. Threads
// that had one slot come one after the other; no step is of two of them.
#pragma once

#include <vector>

#include "base/result.h"
#include "recording/flow_log.h"

namespace heddle {

struct FlowStep {
  uint32_t slot = 0;
  uint64_t count = 0;
  friend bool operator==(const FlowStep&, const FlowStep&) = default;
};

// An error when the edges form a circle or name events that nobody has done: the recording is damaged.
Result<std::vector<FlowStep>> flow_schedule(const std::vector<FlowThread>& threads);

}  // namespace heddle
