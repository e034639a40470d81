// What the facts of a problem say about pairs of events, also by way of others.
//
// "a before b" means: when b is carried out, a has been. For the smt engine, whose constraints on what a read
// may see shrink by it (H3, section 6.3.4): there the facts are the order in which cores ran threads.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/order_needs.h"

namespace heddle {

class KnownOrder {
 public:
  // Linear in events times threads, for each round in which something new comes up: a few.
  KnownOrder(const Problem& problem, const OrderNeeds& needs);

  bool is_before(EventRef a, EventRef b) const {
    if (a.thread == b.thread) return a.event < b.event;
    return a.event < reached_[b.thread][b.event * threads_ + a.thread];
  }

 private:
  size_t threads_;
  std::vector<std::vector<uint32_t>> reached_;  // by thread; by event and other thread: so many come before
};

}  // namespace heddle
