// From what a search carried out to an order for evaluate(): all flushes are in it.
#pragma once

#include <span>
#include <vector>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

// `items`: events, and those flushes that others can tell. Writes that are not flushed in it are so wherever it
// is needed: nobody else looks at them.
std::vector<OrderItem> order_with_all_flushes(const Problem& problem, std::span<const OrderItem> items);

}  // namespace heddle
