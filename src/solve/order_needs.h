// What the facts of a problem say about one event: how far other threads must have come before it.
//
// `before` in front of `after` means: when `after` is carried out, `before` has been. If `after` is left out of
// an order, the fact says nothing about it. Since threads go through their events in order, a fact is a
// position that another thread must have reached, and only the largest position for each thread counts. Clocks
// (Problem::clocks) say something about events of different threads only; within one there is program order.
#pragma once

#include <span>
#include <vector>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

struct OrderNeed {
  uint32_t thread = 0;
  uint32_t events = 0;  // so many of its events come before

  friend bool operator==(const OrderNeed&, const OrderNeed&) = default;
};

class OrderNeeds {
 public:
  explicit OrderNeeds(const Problem& problem);

  // Those that earlier events of the thread do not have already.
  std::span<const OrderNeed> of(EventRef event) const {
    const std::vector<uint32_t>& begins = begins_[event.thread];
    return std::span(needs_).subspan(begins[event.event], begins[event.event + 1] - begins[event.event]);
  }

 private:
  std::vector<OrderNeed> needs_;
  std::vector<std::vector<uint32_t>> begins_;  // by thread and event: in needs_; one more at the end
};

// Whether the order does what the facts say. requires: each thread's events are in program order
bool respects_facts(const Problem& problem, std::span<const OrderItem> order);

}  // namespace heddle
