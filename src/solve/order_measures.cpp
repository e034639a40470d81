#include "solve/order_measures.h"

#include "trace/execution.h"

namespace heddle {

OrderMeasures measure(const Problem& problem, std::span<const OrderItem> order) {
  OrderMeasures measures;
  TraceExecution execution(*problem.trace, problem.model);
  std::optional<uint32_t> running;
  for (const OrderItem& item : order) {
    if (!item.flush) {
      // Flushes since the last event do not matter: they change neither what synchronisation allows nor where
      // threads stand.
      if (running && *running != item.thread) {
        ++measures.switches;
        measures.preemptions += execution.can_go_on(*running);
      }
      running = item.thread;
    }
    HEDDLE_CHECK(!execution.perform(item));
  }
  return measures;
}

}  // namespace heddle
