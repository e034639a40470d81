// Context switches and preemptions of an order of a trace's events.
//
// A switch stands between two neighbouring events of different threads; flushes are the hardware's and no
// switches (as in schedule/measures.h). It is a preemption if the thread that is left could have gone on: it
// has a next event, and that event was possible there (with a flush of its own buffer first where it needs
// one). A thread at the end of its trace cannot go on.
#pragma once

#include <span>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

struct OrderMeasures {
  uint32_t switches = 0, preemptions = 0;

  friend bool operator==(const OrderMeasures&, const OrderMeasures&) = default;
};

// requires: evaluate() carries the whole order out
OrderMeasures measure(const Problem& problem, std::span<const OrderItem> order);

}  // namespace heddle
