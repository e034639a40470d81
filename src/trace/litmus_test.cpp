// Well-known small programs: all orders of their events and flushes are carried out, and the outcomes that come
// about must be just those that each memory model allows.
#include <gtest/gtest.h>

#include <set>

#include "trace/execution.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x2000;
using Outcome = std::vector<uint64_t>;  // what the reads read, by thread and event
using Outcomes = std::set<Outcome>;

class Enumeration {
 public:
  Enumeration(const Trace& trace, MemoryModel model) : trace_(trace), model_(model) {
    go_on(TraceExecution(trace, model), {});
  }
  Outcomes outcomes;

 private:
  using Reads = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

  void go_on(const TraceExecution& from, const std::vector<OrderItem>& order) {
    bool ended = true;
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
      const auto events = static_cast<uint32_t>(trace_.threads[thread].events.size());
      ended &= from.next_event(thread) == events;
      for (uint32_t event = 0; event < events; ++event)
        for (const bool flush : {false, true}) {
          const OrderItem item{.thread = thread, .event = event, .flush = flush};
          if (from.refusal(item)) continue;
          TraceExecution copy = from;
          ASSERT_FALSE(copy.perform(item));
          std::vector<OrderItem> longer = order;
          longer.push_back(item);
          go_on(copy, longer);
        }
    }
    if (ended) note(order);
  }

  void note(const std::vector<OrderItem>& order) {
    Reads reads;
    const Evaluation evaluation =
        evaluate(trace_, model_, order, [&](uint32_t t, uint32_t e, auto read, auto, bool) {
          if (!read.empty()) reads[{t, e}] = read[0];
        });
    ASSERT_EQ(evaluation.kind, Evaluation::Kind::holds);
    Outcome outcome;
    for (const auto& [place, value] : reads) outcome.push_back(value);
    outcomes.insert(outcome);
  }

  const Trace& trace_;
  MemoryModel model_;
};

Outcomes outcomes(const TraceBuilder& program, MemoryModel model) {
  return Enumeration(program.trace, model).outcomes;
}

void expect(const TraceBuilder& program, const Outcomes& sc, const Outcomes& tso_more,
            const Outcomes& pso_more) {
  Outcomes expected = sc;
  EXPECT_EQ(outcomes(program, MemoryModel::sc), expected);
  expected.insert(tso_more.begin(), tso_more.end());
  EXPECT_EQ(outcomes(program, MemoryModel::tso), expected);
  expected.insert(pso_more.begin(), pso_more.end());
  EXPECT_EQ(outcomes(program, MemoryModel::pso), expected);
}

TEST(Litmus, StoreBuffering) {
  TraceBuilder program(2);
  program.write(0, kX, 1);
  program.read(0, kY);
  program.write(1, kY, 1);
  program.read(1, kX);
  expect(program, {{0, 1}, {1, 0}, {1, 1}}, {{0, 0}}, {});
}

TEST(Litmus, StoreBufferingWithFences) {
  for (const AccessOrder order : {AccessOrder::seq_cst, AccessOrder::release}) {
    TraceBuilder program(2);
    for (uint32_t thread = 0; thread < 2; ++thread) {
      program.write(thread, thread == 0 ? kX : kY, 1);
      program.fence(thread, order);
      program.read(thread, thread == 0 ? kY : kX);
    }
    Outcomes weak;
    if (order == AccessOrder::release) weak = {{0, 0}};  // such a fence does not wait for stores
    expect(program, {{0, 1}, {1, 0}, {1, 1}}, weak, {});
  }
}

TEST(Litmus, StoreBufferingWithStrongWrites) {
  TraceBuilder program(2);
  for (uint32_t thread = 0; thread < 2; ++thread) {
    program.write(thread, thread == 0 ? kX : kY, 1, AccessOrder::seq_cst);
    program.read(thread, thread == 0 ? kY : kX);
  }
  expect(program, {{0, 1}, {1, 0}, {1, 1}}, {}, {});
}

TEST(Litmus, MessagePassing) {
  TraceBuilder program(2);
  program.write(0, kX, 1);
  program.write(0, kY, 1);
  program.read(1, kY);
  program.read(1, kX);
  expect(program, {{0, 0}, {0, 1}, {1, 1}}, {}, {{1, 0}});
}

TEST(Litmus, MessagePassingWithRelease) {
  for (const bool fence : {false, true}) {
    TraceBuilder program(2);
    program.write(0, kX, 1);
    if (fence) program.fence(0, AccessOrder::release);
    program.write(0, kY, 1, fence ? AccessOrder::relaxed : AccessOrder::release);
    program.read(1, kY);
    program.read(1, kX);
    expect(program, {{0, 0}, {0, 1}, {1, 1}}, {}, {});
  }
}

TEST(Litmus, LoadBuffering) {
  TraceBuilder program(2);
  program.read(0, kX);
  program.write(0, kY, 1);
  program.read(1, kY);
  program.write(1, kX, 1);
  expect(program, {{0, 0}, {0, 1}, {1, 0}}, {}, {});
}

TEST(Litmus, CoherenceOfReads) {
  TraceBuilder program(2);
  program.write(0, kX, 1);
  program.read(1, kX);
  program.read(1, kX);
  expect(program, {{0, 0}, {0, 1}, {1, 1}}, {}, {});
}

TEST(Litmus, CoherenceOfWrites) {
  TraceBuilder program(2);
  program.write(0, kX, 1);
  program.write(0, kX, 2);
  program.read(0, kX);
  program.read(1, kX);
  program.read(1, kX);
  expect(program, {{2, 0, 0}, {2, 0, 1}, {2, 0, 2}, {2, 1, 1}, {2, 1, 2}, {2, 2, 2}}, {}, {});
}

// What is left in memory: the first thread looks after the others ended.
TEST(Litmus, TwoTimesTwoWrites) {
  TraceBuilder program(3);
  program.add(0, EventKind::join, 1);
  program.add(0, EventKind::join, 2);
  program.read(0, kX);
  program.read(0, kY);
  program.write(1, kX, 1);
  program.write(1, kY, 2);
  program.add(1, EventKind::exit);
  program.write(2, kY, 1);
  program.write(2, kX, 2);
  program.add(2, EventKind::exit);
  expect(program, {{2, 2}, {1, 2}, {2, 1}}, {}, {{1, 1}});
}

// Independent reads of independent writes: all agree on the order of writes in all three models.
TEST(Litmus, IndependentReads) {
  TraceBuilder program(4);
  program.write(0, kX, 1);
  program.write(1, kY, 1);
  program.read(2, kX);
  program.read(2, kY);
  program.read(3, kY);
  program.read(3, kX);
  Outcomes all;
  for (uint64_t bits = 0; bits < 16; ++bits) all.insert({bits >> 3, bits >> 2 & 1, bits >> 1 & 1, bits & 1});
  all.erase({1, 0, 1, 0});
  expect(program, all, {}, {});
}

// A wide store and a narrow one to a part of it keep their order under PSO.
TEST(Litmus, MixedSizes) {
  TraceBuilder program(2);
  program.write(0, kX, 0x11111111);
  program.write(0, kX + 1, program.pool(0).constant(0x22, 8));
  program.read(1, kX);
  expect(program, {{0}, {0x11111111}, {0x11112211}}, {}, {});
}

}  // namespace
}  // namespace heddle
