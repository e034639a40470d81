#include "solve/brute_force.h"

#include <gtest/gtest.h>

#include "solve/order_measures.h"
#include "solve/random_problem.h"
#include "trace/trace_check.h"

namespace heddle {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x1010;
constexpr size_t kMostPoints = 20'000;
constexpr MemoryModel kModels[] = {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso};

// Each of two threads writes its flag and reads the other's; both read 0.
Trace store_buffering() {
  TraceBuilder builder(2);
  for (uint32_t t = 0; t < 2; ++t) {
    builder.write(t, t == 0 ? kX : kY, 1);
    const Expr other = builder.read(t, t == 0 ? kY : kX);
    builder.require(t, builder.pool(t).binary(ExprOp::eq, other, builder.pool(t).constant(0, 32)));
  }
  builder.trace.failure = {.kind = FailurePredicate::Kind::deadlock};
  for (uint32_t t = 0; t < 2; ++t)
    builder.trace.failure.waiting.push_back({t, {.kind = EventKind::join, .address = t}});
  return builder.trace;
}

TEST(BruteForce, StoreBufferingNeedsABuffer) {
  const Trace trace = store_buffering();
  for (const MemoryModel model : kModels) {
    const Problem problem{.trace = &trace, .model = model};
    const BruteForceAnswer answer = BruteForce(problem).solve(kMostPoints);
    EXPECT_EQ(answer.kind == BruteForceAnswer::Kind::found, model != MemoryModel::sc);
    EXPECT_EQ(answer.preemptions, 0u);
  }
}

TEST(BruteForce, CountsTheFewestPreemptions) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.write(0, kX, 2);
  for (const uint64_t wanted : {1, 2}) {
    const Expr value = builder.read(1, kX);
    builder.require(1, builder.pool(1).binary(ExprOp::eq, value, builder.pool(1).constant(wanted, 32)));
  }
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  const Problem problem{.trace = &builder.trace};
  const BruteForceAnswer answer = BruteForce(problem).solve(kMostPoints);
  EXPECT_EQ(answer.kind, BruteForceAnswer::Kind::found);
  EXPECT_EQ(answer.preemptions, 2u);
  EXPECT_EQ(measure(problem, answer.order), (OrderMeasures{.switches = 3, .preemptions = 2}));
}

TEST(BruteForce, LeavesNothingOutByGoingOnOnce) {
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const MemoryModel model = kModels[seed % 3];
    const RandomProblem random = RandomProblemMaker(seed, model, {.threads = 2, .operations = 3}).make();
    const BruteForceAnswer all = BruteForce(random.problem, BruteForce::Points::every_time).solve(kMostPoints);
    if (all.kind == BruteForceAnswer::Kind::too_large) continue;
    const BruteForceAnswer once = BruteForce(random.problem).solve(kMostPoints);
    EXPECT_EQ(once.kind, all.kind) << "seed " << seed;
    EXPECT_EQ(once.preemptions, all.preemptions) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 200u);
}

TEST(RandomProblem, AboutHalfHaveAnAnswerAndAnswersHold) {
  unsigned found = 0, impossible = 0, preempted = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const MemoryModel model = kModels[seed % 3];
    const RandomProblem random = random_problem(seed, model);
    const Result<void> checked = check_trace(*random.trace);
    ASSERT_TRUE(checked) << seed << checked.error().what << checked.error().why;
    const BruteForceAnswer answer = BruteForce(random.problem).solve(kMostPoints / 4);
    impossible += answer.kind == BruteForceAnswer::Kind::impossible;
    if (answer.kind != BruteForceAnswer::Kind::found) continue;
    ++found;
    preempted += answer.preemptions > 0;
    EXPECT_EQ(evaluate(*random.trace, model, answer.order).kind, Evaluation::Kind::holds);
    EXPECT_TRUE(respects_facts(random.problem, answer.order));
    EXPECT_EQ(measure(random.problem, answer.order).preemptions, answer.preemptions);
  }
  EXPECT_GT(found, 40u);
  EXPECT_GT(impossible, 25u);
  EXPECT_GT(preempted, 10u);
}

}  // namespace
}  // namespace heddle
