#include "solve/order_measures.h"

#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x1010, kMutex = 0x2000;

OrderMeasures measured(const Trace& trace, MemoryModel model, const std::vector<OrderItem>& order) {
  EXPECT_EQ(evaluate(trace, model, order).kind, Evaluation::Kind::holds);
  return measure({.trace = &trace, .model = model}, order);
}

TEST(OrderMeasures, NothingIsNoSwitch) {
  const TraceBuilder builder(2);
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, {}), (OrderMeasures{}));
}

TEST(OrderMeasures, LeavingAThreadThatCouldGoOnIsAPreemption) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.write(0, kX, 2);
  builder.write(1, kX, 3);
  const std::vector<OrderItem> in_the_middle = {{0, 0}, {1, 0}, {0, 1}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, in_the_middle),
            (OrderMeasures{.switches = 2, .preemptions = 1}));  // thread 1 is at its end
  const std::vector<OrderItem> at_the_end = {{0, 0}, {0, 1}, {1, 0}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, at_the_end),
            (OrderMeasures{.switches = 1, .preemptions = 0}));
}

TEST(OrderMeasures, LeavingAThreadThatWaitsIsNone) {
  TraceBuilder builder(2);
  builder.add(0, EventKind::lock, kMutex);
  builder.add(0, EventKind::unlock, kMutex);
  builder.write(1, kX, 1);
  builder.add(1, EventKind::lock, kMutex);
  const std::vector<OrderItem> order = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, order),
            (OrderMeasures{.switches = 3, .preemptions = 1}));  // the first switch only
}

TEST(OrderMeasures, WhetherItWaitsIsAskedWhereItIsLeft) {
  TraceBuilder builder(3);
  builder.add(0, EventKind::lock, kMutex);
  builder.add(0, EventKind::unlock, kMutex);
  builder.write(1, kX, 1);
  builder.add(1, EventKind::lock, kMutex);
  builder.write(2, kX, 2);
  builder.write(2, kX, 3);
  // Thread 1 waits when it is left, and no longer when thread 2 is left.
  const std::vector<OrderItem> order = {{0, 0}, {1, 0}, {0, 1}, {2, 0}, {1, 1}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, order),
            (OrderMeasures{.switches = 4, .preemptions = 2}));  // threads 0 and 2
}

TEST(OrderMeasures, FlushesAreNoSwitches) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.read(0, kY);
  builder.read(1, kX);
  const std::vector<OrderItem> order = {{0, 0}, {0, 1}, {0, 0, true}, {1, 0}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::tso, order), (OrderMeasures{.switches = 1, .preemptions = 0}));
  const std::vector<OrderItem> late = {{0, 0}, {1, 0}, {0, 0, true}, {0, 1}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::tso, late), (OrderMeasures{.switches = 2, .preemptions = 1}));
}

TEST(OrderMeasures, AThreadThatNeedsItsBufferEmptyCouldGoOn) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.fence(0, AccessOrder::seq_cst);
  builder.read(1, kX);
  const std::vector<OrderItem> order = {{0, 0}, {1, 0}, {0, 0, true}, {0, 1}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::tso, order), (OrderMeasures{.switches = 2, .preemptions = 1}));
}

TEST(OrderMeasures, AThreadThatIsNotThereYetCouldNot) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.add(0, EventKind::create, 1);
  builder.write(1, kX, 2);
  const std::vector<OrderItem> order = {{0, 0}, {0, 1}, {1, 0}};
  EXPECT_EQ(measured(builder.trace, MemoryModel::sc, order), (OrderMeasures{.switches = 1, .preemptions = 0}));
}

}  // namespace
}  // namespace heddle
