// A long problem that needs one preemption, for tests: threads add to a number under a lock, and each once
// without; at the end the number is too small. Comes with an order of many switches that explains it.
#pragma once

#include <random>

#include "solve/problem.h"
#include "trace/execution.h"
#include "trace/trace_fixture.h"

namespace heddle {

class LogShape {
 public:
  LogShape(uint32_t threads, uint32_t rounds) : builder_(threads + 1) {
    for (uint32_t t = 1; t <= threads; ++t) add_thread(t, rounds);
    for (uint32_t t = 1; t <= threads; ++t) builder_.add(0, Event{.kind = EventKind::join, .address = t});
    ExprPool& pool = builder_.pool(0);
    const Expr all = pool.constant(threads * (rounds + 1), 32);
    FailurePredicate& failure = builder_.trace.failure;
    failure.kind = FailurePredicate::Kind::condition;
    failure.condition = pool.binary(ExprOp::ult, builder_.read(0, kNumber), all);
  }

  const Trace& trace() const { return builder_.trace; }
  Problem problem() const { return {.trace = &builder_.trace}; }

  // Threads take turns at random.
  std::vector<OrderItem> order_of_many_switches() const {
    for (uint64_t seed = 0;; ++seed) {
      std::vector<OrderItem> order = random_order(seed);
      if (evaluate(trace(), MemoryModel::sc, order).kind == Evaluation::Kind::holds) return order;
    }
  }

 private:
  static constexpr uint64_t kNumber = 0x1000, kMutex = 0x2000;

  void add_one(uint32_t thread) {
    const Expr old = builder_.read(thread, kNumber);
    ExprPool& pool = builder_.pool(thread);
    builder_.write(thread, kNumber, pool.binary(ExprOp::add, old, pool.constant(1, 32)));
  }

  void add_thread(uint32_t thread, uint32_t rounds) {
    for (uint32_t i = 0; i < rounds; ++i) {
      builder_.add(thread, EventKind::lock, kMutex);
      add_one(thread);
      builder_.add(thread, EventKind::unlock, kMutex);
      if (i == rounds / 2) add_one(thread);
    }
    builder_.add(thread, EventKind::exit);
  }

  std::vector<OrderItem> random_order(uint64_t seed) const {
    std::mt19937_64 random(seed);
    TraceExecution execution(trace(), MemoryModel::sc);
    std::vector<OrderItem> order;
    while (execution.next_event(0) < trace().threads[0].events.size()) {
      const auto thread = static_cast<uint32_t>(random() % trace().threads.size());
      for (uint64_t more = random() % 12; more > 0 && execution.can_go_on(thread); --more) {
        order.push_back({.thread = thread, .event = execution.next_event(thread)});
        HEDDLE_CHECK(!execution.perform(order.back()));
      }
    }
    return order;
  }

  TraceBuilder builder_;
};

}  // namespace heddle
