#include "solve/ordering_model.h"

#include <algorithm>

namespace heddle {

// By moment: the thread has a lock when it comes.
std::vector<bool> OrderingModel::find_locks() const {
  std::vector<bool> has_lock(order.moments());
  for (uint32_t t = 0; t < moments_.size(); ++t) {
    int64_t locks = 0;
    for (uint32_t e = 0; e < moments_[t].size(); ++e) {
      if (e == 0 || moments_[t][e] != moments_[t][e - 1]) has_lock[moments_[t][e]] = locks > 0;
      switch (event(t, e).kind) {
        case EventKind::lock:
        case EventKind::read_lock:
        case EventKind::write_lock:
        case EventKind::wait_end:
        case EventKind::wait_timeout:
          ++locks;
          break;
        case EventKind::unlock:
        case EventKind::read_unlock:
        case EventKind::write_unlock:
        case EventKind::wait_begin:
          --locks;
          break;
        default:
          break;
      }
    }
  }
  return has_lock;
}

// Where a moment lies in the run, from 0 to 1: by how many moments come before it in any case, and after. This
// grows along the order.
void OrderingModel::add_window(uint32_t window) {
  const auto threads = static_cast<uint32_t>(moments_.size());
  std::vector<double> places;
  uint32_t longest = 0;
  for (Moment moment = 0; moment < end; ++moment) {
    double before = 0, after = 0;
    for (uint32_t chain = 0; chain < threads; ++chain) {
      before += order.count_before(moment, chain);
      after += order.length(chain) - order.first_after(moment, chain);
    }
    places.push_back((before + 0.5) / (before + after + 1));
    longest = std::max(longest, order.length(order.chain_of(moment)));
  }
  const std::vector<bool> has_lock = find_locks();
  const double width = static_cast<double>(window) / longest;
  const uint32_t stride = std::max(window / 4, 1U);
  for (uint32_t left = 0; left < threads; ++left)
    for (uint32_t right = 0; right < threads; ++right) {
      if (left == right) continue;
      uint32_t to = 0;
      for (uint32_t from = 0; from < order.length(left); from += stride) {
        const double limit = places[order.at(left, from)] + width;
        while (to < order.length(right) && places[order.at(right, to)] <= limit) ++to;
        // Who waits for it is not to have a lock that is needed until then.
        while (to < order.length(right) && has_lock[order.at(right, to)]) ++to;
        if (to == order.length(right)) break;
        add_edge(order.at(left, from), order.at(right, to));
      }
    }
  ChainOrder chains;
  for (uint32_t chain = 0; chain < order.chains(); ++chain) chains.add_chain(order.length(chain));
  order = std::move(chains);
  start_order();
}

}  // namespace heddle
