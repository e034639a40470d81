// Which of the recorded stamps prove too strict.
//
// Stamps are assumptions (problem.h): where one is off by more than the slack, or an event stands in the trace
// where it did not happen, no order has all that they say. Then only those stamps are to be dropped that take
// part in the contradiction, one by one; all others go on to make the problem small. They are found by trying:
// without any stamp, then without those of a span of time, then of smaller ones (A. Zeller, R. Hildebrandt:
// "Simplifying and isolating failure-inducing input", 2002), so that of the stamps that are left out at the
// end, each makes the problem impossible again if it alone is put back. Not by the core of a refutation: what
// makes long problems small enough to be solved is that reads lose their candidates by the stamps before the
// search begins, and no core knows about those.
#pragma once

#include <chrono>

#include "solve/engine.h"

namespace heddle {

struct DoubtedClocks {
  enum class End : uint8_t {
    none,       // there is no way without stamps either: proved
    some,       // without `bounds` there is an order
    not_found,  // it took too long to see any
  };
  End end = End::not_found;
  std::vector<ClockBound> bounds;  // growing
  bool smallest = false;           // each of them alone makes it impossible
  uint32_t problems = 0;           // that were solved for it
};

// Requires: the problem, with its stamps, is impossible. Ends at the limits; with an answer, `effort` after the
// first.
DoubtedClocks find_doubted_clocks(const Problem& problem, const SolveLimits& limits,
                                  std::chrono::milliseconds effort = std::chrono::seconds(10));

}  // namespace heddle
