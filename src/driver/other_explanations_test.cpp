#include "driver/other_explanations.h"

#include <gtest/gtest.h>

#include "solve/ordering.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

SolveAnswer solve(const Trace& trace) {
  return make_ordering_engine()->solve({.trace = &trace}, {});
}

// A thread releases a block that another one uses; that one fails later on its own.
TraceBuilder used_block() {
  TraceBuilder program(2);
  program.add(0, {.kind = EventKind::release, .size = 16, .address = 0x1000});
  program.write(1, 0x1008, 1);
  program.write(1, 0x3000, 1);
  program.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  return program;
}

TEST(OtherExplanations, AllThatWasRecordedMayHaveComeFirst) {
  const TraceBuilder program = used_block();
  OtherExplanations others(program.trace, {.kind = "assert"});
  const std::optional<Explanation> first = others.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->last, 1U);
  const SolveAnswer answer = solve(first->trace);
  ASSERT_EQ(answer.verdict, SolveVerdict::found);
  EXPECT_EQ(answer.order.size(), 3U) << "the other thread's event too";
  EXPECT_FALSE(others.next()) << "a failed assertion does not come of the heap";
}

TEST(OtherExplanations, ACrashMayComeOfABlockThatWasUsedTooLate) {
  const TraceBuilder program = used_block();
  OtherExplanations others(program.trace, {.kind = "abort"});
  others.next();
  const std::optional<Explanation> use = others.next();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->trace.failure.kind, FailurePredicate::Kind::freed);
  EXPECT_EQ(use->trace.failure.address, 0x1008U);
  EXPECT_EQ(use->trace.threads[1].events.size(), 0U) << "it ends before the use";
  const SolveAnswer answer = solve(use->trace);
  ASSERT_EQ(answer.verdict, SolveVerdict::found);
  EXPECT_EQ(answer.order, (std::vector<OrderItem>{{.thread = 0, .event = 0}}));
  EXPECT_FALSE(others.next());
}

TEST(OtherExplanations, NotOfWhatOneThreadDoesByItself) {
  TraceBuilder program(2);
  program.write(0, 0x1008, 1);
  program.add(0, {.kind = EventKind::release, .size = 16, .address = 0x1000});
  program.write(1, 0x3000, 1);
  program.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  OtherExplanations others(program.trace, {.kind = "segv"});
  others.next();
  EXPECT_FALSE(others.next());
}

}  // namespace
}  // namespace heddle
