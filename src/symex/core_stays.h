// In which order cores ran threads, and what that says about their events (H3, section 6.3.4).
//
// A core does one thing after another: what one thread did there before another one took it over comes before
// what that one does from then on. The dissertation orders writes; on a core the rest is ordered as well.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace heddle {

// From a time on a thread was on a core, or elsewhere (PathVisitor::kAnyCore). Of its events `before` happened
// before that for certain, and those from `from` on not before it.
struct CoreStay {
  uint32_t core = 0;
  uint64_t tsc = 0;
  uint32_t before = 0, from = 0;
};

// `threads`: the stays of each, by time. One order for each change of threads on a core that says something
// new.
std::vector<OrderOnCore> core_orders(std::span<const std::vector<CoreStay>> threads,
                                     std::span<const uint32_t> event_counts);

}  // namespace heddle
