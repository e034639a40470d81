#include "solve/order_needs.h"

#include <algorithm>

namespace heddle {
namespace {

// Of one thread: how many of its events must be done at a time, since one of them ended before it.
class EndsOfThread {
 public:
  EndsOfThread(const Problem& problem, uint32_t thread) {
    const std::vector<Event>& events = problem.trace->threads[thread].events;
    for (uint32_t i = 0; i < events.size(); ++i)
      if (events[i].tsc_high != 0 && !problem.is_doubted({.time = events[i].tsc_high, .thread = thread}))
        ends_.push_back({events[i].tsc_high, i + 1});
    std::ranges::sort(ends_, {}, &End::time);
    for (size_t i = 1; i < ends_.size(); ++i) ends_[i].events = std::max(ends_[i].events, ends_[i - 1].events);
  }

  uint32_t events_before(uint64_t time) const {
    const auto after = std::ranges::upper_bound(ends_, time, {}, &End::time);
    return after == ends_.begin() ? 0 : std::prev(after)->events;
  }

 private:
  struct End {
    uint64_t time;
    uint32_t events;
  };
  std::vector<End> ends_;  // events: the largest so far
};

}  // namespace

OrderNeeds::OrderNeeds(const Problem& problem) : begins_(problem.trace->threads.size()) {
  const std::vector<ThreadTrace>& threads = problem.trace->threads;
  std::vector<EndsOfThread> ends;
  if (problem.clocks)
    for (uint32_t t = 0; t < threads.size(); ++t) ends.emplace_back(problem, t);
  std::vector<OrderFact> facts = problem.facts;
  std::ranges::sort(facts, {}, &OrderFact::after);
  auto fact = facts.begin();
  for (uint32_t t = 0; t < threads.size(); ++t) {
    std::vector<uint32_t> known(threads.size()), wanted(threads.size());
    for (uint32_t e = 0; e < threads[t].events.size(); ++e) {
      begins_[t].push_back(static_cast<uint32_t>(needs_.size()));
      std::ranges::fill(wanted, 0);
      for (; fact != facts.end() && fact->after == EventRef{t, e}; ++fact)
        wanted[fact->before.thread] = std::max(wanted[fact->before.thread], fact->before.event + 1);
      const uint64_t low = threads[t].events[e].tsc_low;
      const bool is_doubted = problem.is_doubted({.time = low, .thread = t});
      const uint64_t over = low > problem.clock_slack && !is_doubted ? low - problem.clock_slack : 0;
      for (uint32_t other = 0; other < ends.size(); ++other)
        if (other != t && over != 0) wanted[other] = std::max(wanted[other], ends[other].events_before(over));
      for (uint32_t other = 0; other < threads.size(); ++other) {
        if (wanted[other] <= known[other]) continue;
        known[other] = wanted[other];
        needs_.push_back({.thread = other, .events = wanted[other]});
      }
    }
    begins_[t].push_back(static_cast<uint32_t>(needs_.size()));
  }
}

bool respects_facts(const Problem& problem, std::span<const OrderItem> order) {
  const OrderNeeds needs(problem);
  std::vector<uint32_t> done(problem.trace->threads.size());
  for (const OrderItem& item : order) {
    if (item.flush) continue;
    for (const OrderNeed& need : needs.of({item.thread, item.event}))
      if (done[need.thread] < need.events) return false;
    ++done[item.thread];
  }
  return true;
}

}  // namespace heddle
