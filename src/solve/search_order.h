// What a search carried out, and an order for evaluate() made from it: all flushes are in that.
#pragma once

#include <vector>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

struct SearchedOrder {
  std::vector<OrderItem> items;  // events, and those flushes that others can tell
  std::vector<EventRef> unseen;  // writes that nobody else looks at: they are flushed wherever it is needed
};

std::vector<OrderItem> order_with_all_flushes(const Problem& problem, const SearchedOrder& searched);

}  // namespace heddle
