#include "solve/doubted_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solve/ladder.h"
#include "solve/ordering.h"

namespace heddle {
namespace {

SolveVerdict verdict(const Problem& problem) {
  return make_ordering_engine()->solve(problem, {}).verdict;
}

// A thread writes and another reads what it wrote, over and over, each inside one lock; with times that fit.
Trace in_turns(unsigned turns) {
  TraceBuilder program(2);
  for (unsigned i = 1; i <= turns; ++i)
    for (uint32_t t = 0; t < 2; ++t) {
      const uint64_t time = 1000 * (2 * i + t);
      const size_t first = program.trace.threads[t].events.size();
      program.add(t, EventKind::lock, 0x2000);
      if (t == 0) {
        program.write(t, 0x1000, i);
      } else {
        ExprPool& pool = program.pool(t);
        program.require(t, pool.binary(ExprOp::eq, program.read(t, 0x1000), pool.constant(i, 32)));
      }
      program.add(t, EventKind::unlock, 0x2000);
      for (size_t e = first; e < program.trace.threads[t].events.size(); ++e) {
        program.trace.threads[t].events[e].tsc_low = time;
        program.trace.threads[t].events[e].tsc_high = time + 500;
      }
    }
  program.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  return program.trace;
}

TEST(DoubtedClocks, OnlyStampsThatContradictAreDropped) {
  Trace trace = in_turns(12);
  Problem problem{.trace = &trace, .clocks = true};
  ASSERT_EQ(verdict(problem), SolveVerdict::found);
  // The fifth write is said to have ended after the fifth read.
  const uint64_t late = 1000 * 11 + 700;
  for (Event& event : trace.threads[0].events)
    if (event.tsc_low == 10'000) event.tsc_low = late;
  ASSERT_EQ(verdict(problem), SolveVerdict::impossible);
  const DoubtedClocks doubted = find_doubted_clocks(problem, {});
  EXPECT_EQ(doubted.end, DoubtedClocks::End::some);
  EXPECT_TRUE(doubted.smallest);
  ASSERT_EQ(doubted.bounds.size(), 1U);
  // Of the two that contradict each other one.
  const ClockBound write{.time = late, .thread = 0}, read{.time = 11'500, .thread = 1};
  EXPECT_THAT(doubted.bounds[0], testing::AnyOf(write, read));
  problem.doubted = doubted.bounds;
  EXPECT_EQ(verdict(problem), SolveVerdict::found);
}

TEST(DoubtedClocks, SeveralContradictions) {
  Trace trace = in_turns(12);
  for (const uint64_t turn : {3U, 8U})
    for (Event& event : trace.threads[0].events)
      if (event.tsc_low == 2000 * turn) event.tsc_low = 2000 * turn + 1700;
  Problem problem{.trace = &trace, .clocks = true};
  ASSERT_EQ(verdict(problem), SolveVerdict::impossible);
  const DoubtedClocks doubted = find_doubted_clocks(problem, {});
  EXPECT_EQ(doubted.end, DoubtedClocks::End::some);
  EXPECT_EQ(doubted.bounds.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(doubted.bounds));
  // None of them is one too many.
  for (size_t i = 0; i < doubted.bounds.size(); ++i) {
    problem.doubted = doubted.bounds;
    problem.doubted.erase(problem.doubted.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(verdict(problem), SolveVerdict::impossible);
  }
}

TEST(DoubtedClocks, WhatIsImpossibleAnywayNeedsNoDoubt) {
  Trace trace = in_turns(4);
  ExprPool& pool = trace.threads[1].pool;
  trace.failure = {.kind = FailurePredicate::Kind::condition, .thread = 1, .condition = pool.constant(0, 1)};
  const Problem problem{.trace = &trace, .clocks = true};
  const DoubtedClocks doubted = find_doubted_clocks(problem, {});
  EXPECT_EQ(doubted.end, DoubtedClocks::End::none);
  EXPECT_EQ(doubted.problems, 1U);
}

// On a long problem, of which it would take long to find an order without any stamp.
TEST(DoubtedClocks, AWrongStampOfALongProblem) {
  Trace trace = Ladder(200).trace();
  Problem problem{.trace = &trace, .clocks = true};
  ASSERT_EQ(verdict(problem), SolveVerdict::found);
  // The thread is said to have done this part long before it could: with what it did at the beginning.
  std::vector<Event>& events = trace.threads[1].events;
  const uint64_t wrong = events[events.size() / 2].tsc_high;
  for (Event& event : events)
    if (event.tsc_high == wrong) event.tsc_high = 2;
  ASSERT_EQ(verdict(problem), SolveVerdict::impossible);
  const DoubtedClocks doubted = find_doubted_clocks(problem, {});
  ASSERT_EQ(doubted.end, DoubtedClocks::End::some);
  EXPECT_LE(doubted.bounds.size(), 3U);
  problem.doubted = doubted.bounds;
  EXPECT_EQ(verdict(problem), SolveVerdict::found);
}

}  // namespace
}  // namespace heddle
