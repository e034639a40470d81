// Takes preemptions out of an order that leads to the failure, as long as one is left that still does.
//
// As minimising delta debugging does it (Zeller, Hildebrandt: Simplifying and isolating failure-inducing
// input): of the places where the order leaves a thread that could go on, many are left out at once, then
// fewer, then one by one; a guided run (guided_run.h) says what becomes of the order without them. So an order
// of thousands of switches of which few matter takes few runs, each linear.
#pragma once

#include "solve/engine.h"

namespace heddle {

// requires: found. The answer may be better, never worse: no more preemptions, and no more switches for as many
// of them. Facts of the problem hold if they held before. Ends early by the limits.
SolveAnswer with_fewer_preemptions(const Problem& problem, SolveAnswer answer, const SolveLimits& limits);

}  // namespace heddle
