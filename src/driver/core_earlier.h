// A preemption that missed its purpose: the other thread did not come to the event that was to be first, since
// it decided otherwise by what the preempted one had written shortly before. Then that write is to come behind,
// too.
#pragma once

#include <optional>

#include "driver/core_candidates.h"

namespace heddle {

// The event to preempt the same thread before instead: that write, or where it takes the lock under which the
// other one reads. Nothing: the event came, or it is not known what kept the other thread from it. `run`: with
// that event, in which the preemption was made; `tried`: what came of it; equal up to the preemption.
std::optional<size_t> earlier_preemption(const CoreCandidate& made, const std::vector<heddle_event>& run,
                                         const std::vector<heddle_event>& tried, size_t threads);

}  // namespace heddle
