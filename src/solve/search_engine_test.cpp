#include "solve/search_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

using testing::HasSubstr;

constexpr uint64_t kX = 0x1000, kMutex = 0x2000, kCondition = 0x2100, kOwn = 0x8000;

Expr plus_one(ExprPool& pool, Expr e) {
  return pool.binary(ExprOp::add, e, pool.constant(1, 32));
}

// Two threads that add 1 to a variable so many times, with accesses of their own between; and a third that
// joins them and finds some of it lost.
Trace lost_updates(uint32_t times, uint64_t lost, uint32_t own_accesses = 3) {
  TraceBuilder builder(3);
  for (uint32_t t = 1; t <= 2; ++t) {
    builder.add(0, EventKind::create, t);
    builder.add(t, EventKind::start);
    for (uint32_t i = 0; i < times; ++i) {
      for (uint32_t k = 0; k < own_accesses; ++k)
        builder.write(t, kOwn + t * 64, plus_one(builder.pool(t), builder.read(t, kOwn + t * 64)));
      builder.write(t, kX, plus_one(builder.pool(t), builder.read(t, kX)));
    }
    builder.add(t, EventKind::exit);
  }
  for (uint32_t t = 1; t <= 2; ++t) builder.add(0, EventKind::join, t);
  ExprPool& pool = builder.pool(0);
  builder.trace.failure = {
      .kind = FailurePredicate::Kind::condition,
      .condition = pool.binary(ExprOp::eq, builder.read(0, kX), pool.constant(2 * times - lost, 32))};
  return builder.trace;
}

SolveAnswer solved(const Trace& trace, const SolveLimits& limits = {}, MemoryModel model = MemoryModel::sc) {
  const SolveAnswer answer = make_search_engine()->solve({.trace = &trace, .model = model}, limits);
  if (answer.verdict == SolveVerdict::found)
    EXPECT_EQ(evaluate(trace, model, answer.order).kind, Evaluation::Kind::holds);
  return answer;
}

TEST(SearchEngine, FindsTheFewestPreemptions) {
  const SolveAnswer all_there = solved(lost_updates(5, 0));
  EXPECT_EQ(all_there.verdict, SolveVerdict::found);
  EXPECT_EQ(all_there.preemptions, 0u);
  // To lose one update, the thread that loses it must go on, and the other must still have one to lose.
  const SolveAnswer one_lost = solved(lost_updates(5, 1));
  EXPECT_EQ(one_lost.verdict, SolveVerdict::found);
  EXPECT_EQ(one_lost.preemptions, 2u);
  EXPECT_TRUE(one_lost.fewest);
  EXPECT_EQ(solved(lost_updates(5, 5)).preemptions, 1u);
}

// The thread that is left holds a lock on which the other then waits, at no cost: left behind the unlock, it
// would have to be the other that is preempted, too.
TEST(SearchEngine, LeavesAThreadSoThatAnotherWaits) {
  TraceBuilder builder(2);
  builder.add(0, EventKind::lock, kMutex);
  builder.write(0, kX, 1);
  builder.add(0, EventKind::unlock, kMutex);
  builder.write(0, kX, 2);
  ExprPool& pool = builder.pool(1);
  builder.require(1, pool.binary(ExprOp::eq, builder.read(1, kX), pool.constant(1, 32)));
  builder.add(1, EventKind::lock, kMutex);
  builder.require(1, pool.binary(ExprOp::eq, builder.read(1, kX), pool.constant(2, 32)));
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  EXPECT_EQ(solved(builder.trace).preemptions, 1u);
}

// The threads stand at the same events whether the signal came too early or not.
TEST(SearchEngine, TellsALostSignalFromOneThatWakes) {
  TraceBuilder builder(2);
  builder.add(0, EventKind::signal, kCondition);
  builder.add(1, EventKind::lock, kMutex);
  builder.add(1, EventKind::wait_begin, kCondition, kMutex);
  builder.add(1, EventKind::wait_end, kCondition, kMutex);
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  EXPECT_EQ(solved(builder.trace).verdict, SolveVerdict::found);
}

TEST(SearchEngine, ProvesThatThereIsNone) {
  EXPECT_EQ(solved(lost_updates(3, 7)).verdict, SolveVerdict::impossible);
  EXPECT_EQ(solved(lost_updates(1, 2)).verdict, SolveVerdict::impossible);
}

TEST(SearchEngine, AccessesThatNobodyElseSeesCostNoMoves) {
  const uint64_t few = solved(lost_updates(40, 1, 1)).statistics.at("bytes");
  const uint64_t many = solved(lost_updates(40, 1, 30)).statistics.at("bytes");
  EXPECT_EQ(few, many);
}

TEST(SearchEngine, ThreadsHelpAndAgree) {
  const Trace trace = lost_updates(30, 1);
  EXPECT_EQ(solved(trace, {.jobs = 3}).preemptions, 2u);
  EXPECT_EQ(solved(lost_updates(10, 21), {.jobs = 3}).verdict, SolveVerdict::impossible);
}

TEST(SearchEngine, ABoundThatIsTooLowIsNoProof) {
  const SolveAnswer answer = solved(lost_updates(5, 1), {.most_preemptions = 1});
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_THAT(answer.why, HasSubstr("1 preemptions"));
  EXPECT_EQ(solved(lost_updates(5, 1), {.most_preemptions = 2}).verdict, SolveVerdict::found);
}

TEST(SearchEngine, EndsAtItsLimits) {
  const Trace trace = lost_updates(300, 601);  // impossible, but that takes long to find out
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(solved(trace, {.deadline = begin + std::chrono::milliseconds(50)}).why, "out of time");
  EXPECT_EQ(solved(trace, {.most_bytes = 1'000'000}).why, "out of memory");
  const std::atomic<bool> stop = true;
  EXPECT_EQ(solved(trace, {.stop = &stop, .jobs = 2}).why, "stopped");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(SearchEngine, WhatHoldsBeforeTheFirstEventIsLookedAt) {
  TraceBuilder builder(1);
  EXPECT_EQ(solved(builder.trace).verdict, SolveVerdict::found);  // no failure: nothing needs to be done
  builder.require(0, builder.pool(0).constant(0, 1));
  EXPECT_EQ(solved(builder.trace).verdict, SolveVerdict::impossible);
}

// The write of the step becomes visible within it: another's write to the same memory may have to come before.
TEST(SearchEngine, AStepMayFlushWhatItWrites) {
  TraceBuilder builder(2);
  builder.write(0, kX, 2);
  ExprPool& pool = builder.pool(0);
  builder.require(0, pool.binary(ExprOp::eq, builder.read(0, kX), pool.constant(1, 32)));
  builder.write(1, kX, 1);
  builder.add(1, {.kind = EventKind::fence, .order = AccessOrder::seq_cst}, true);
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached};
  for (const MemoryModel model : {MemoryModel::tso, MemoryModel::pso}) {
    const SolveAnswer answer = solved(builder.trace, {}, model);
    EXPECT_EQ(answer.verdict, SolveVerdict::found);
    EXPECT_EQ(answer.preemptions, 1u);
  }
}

TEST(SearchEngine, WritesThatNobodyElseSeesAreFlushedBeforeThoseThatMatter) {
  TraceBuilder builder(2);
  builder.write(0, kOwn, 1);
  builder.write(0, kX, 1);
  builder.read(0, kOwn);
  const Expr value = builder.read(1, kX);
  builder.trace.failure = {
      .kind = FailurePredicate::Kind::condition,
      .thread = 1,
      .condition = builder.pool(1).binary(ExprOp::eq, value, builder.pool(1).constant(1, 32))};
  for (const MemoryModel model : {MemoryModel::tso, MemoryModel::pso})
    EXPECT_EQ(solved(builder.trace, {}, model).preemptions, 0u);
}

}  // namespace
}  // namespace heddle
