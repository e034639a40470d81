#include "solve/search_order.h"

#include <algorithm>
#include <set>

#include "trace/execution.h"

namespace heddle {
namespace {

class FlushAdder {
 public:
  FlushAdder(const Problem& problem, const SearchedOrder& searched)
      : problem_(problem),
        execution_(*problem.trace, problem.model),
        buffers_(problem.trace->threads.size()),
        unseen_(searched.unseen.begin(), searched.unseen.end()) {}

  void add(const OrderItem& item) {
    std::set<uint32_t>& buffer = buffers_[item.thread];
    if (item.flush) {  // those in the way first
      for (const uint32_t event : std::vector(buffer.begin(), buffer.lower_bound(item.event)))
        if (unseen_.contains({item.thread, event})) flush_if_possible(item.thread, event);
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
  std::set<EventRef> unseen_;
  std::vector<OrderItem> order_;
};

}  // namespace

std::vector<OrderItem> order_with_all_flushes(const Problem& problem, const SearchedOrder& searched) {
  FlushAdder adder(problem, searched);
  for (const OrderItem& item : searched.items) adder.add(item);
  return adder.take();
}

}  // namespace heddle
