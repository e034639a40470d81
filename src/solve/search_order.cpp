#include "solve/search_order.h"

#include <algorithm>
#include <set>

#include "trace/execution.h"

namespace heddle {
namespace {

class FlushAdder {
 public:
  explicit FlushAdder(const Problem& problem, std::span<const OrderItem> items)
      : problem_(problem), execution_(*problem.trace, problem.model), buffers_(problem.trace->threads.size()) {
    for (const OrderItem& item : items)
      if (item.flush) told_.insert({item.thread, item.event});
  }

  void add(const OrderItem& item) {
    std::set<uint32_t>& buffer = buffers_[item.thread];
    if (item.flush) {
      told_.erase({item.thread, item.event});
      // Older writes that nobody looks at may be in the way.
      for (const uint32_t event : std::vector(buffer.begin(), buffer.lower_bound(item.event)))
        if (!told_.contains({item.thread, event})) flush_if_possible(item.thread, event);
      flush_if_possible(item.thread, item.event);
      return;
    }
    const Event& event = problem_.event({item.thread, item.event});
    if (needs_empty_buffer(event))
      while (!buffer.empty()) flush_if_possible(item.thread, *buffer.begin());
    else if (event.kind == EventKind::write && problem_.model != MemoryModel::sc)
      buffer.insert(item.event);
    perform(item);
  }

  std::vector<OrderItem> take() { return std::move(order_); }

 private:
  void flush_if_possible(uint32_t thread, uint32_t event) {
    const OrderItem item{.thread = thread, .event = event, .flush = true};
    if (execution_.refusal(item)) return;
    buffers_[thread].erase(event);
    perform(item);
  }

  void perform(const OrderItem& item) {
    HEDDLE_CHECK(!execution_.perform(item));
    order_.push_back(item);
  }

  const Problem& problem_;
  TraceExecution execution_;
  std::vector<std::set<uint32_t>> buffers_;  // writes by thread
  std::set<EventRef> told_;                  // writes whose flush is still to come in the items
  std::vector<OrderItem> order_;
};

}  // namespace

std::vector<OrderItem> order_with_all_flushes(const Problem& problem, std::span<const OrderItem> items) {
  FlushAdder adder(problem, items);
  for (const OrderItem& item : items) adder.add(item);
  return adder.take();
}

}  // namespace heddle
