#include "solve/known_order.h"

#include <algorithm>

namespace heddle {

KnownOrder::KnownOrder(const Problem& problem, const OrderNeeds& needs)
    : threads_(problem.trace->threads.size()) {
  for (const ThreadTrace& thread : problem.trace->threads)
    reached_.emplace_back(thread.events.size() * threads_);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t t = 0; t < threads_; ++t) {
      const uint32_t* before = nullptr;
      for (uint32_t e = 0; e < problem.trace->threads[t].events.size(); ++e) {
        uint32_t* here = reached_[t].data() + e * threads_;
        const auto raise = [&](size_t thread, uint32_t to) {
          if (thread == t || here[thread] >= to) return;
          here[thread] = to;
          changed = true;
        };
        if (before != nullptr)
          for (size_t other = 0; other < threads_; ++other) raise(other, before[other]);
        for (const OrderNeed& need : needs.of({t, e})) {
          raise(need.thread, need.events);
          const uint32_t* there = reached_[need.thread].data() + (need.events - 1) * threads_;
          for (size_t other = 0; other < threads_; ++other) raise(other, there[other]);
        }
        before = here;
      }
    }
  }
}

}  // namespace heddle
