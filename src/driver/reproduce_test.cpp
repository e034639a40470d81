#include "driver/reproduce.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

class NothingIsPossible : public Engine {
 public:
  std::string_view name() const override { return "none"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits&) override {
    models.push_back(problem.model);
    return {.verdict = SolveVerdict::impossible};
  }
  std::vector<MemoryModel> models;
};

class NothingRuns : public Executor {
 public:
  Result<Execution> execute(const ExecutionPlan&) override { return Error{.what = "nothing to run"}; }
};

ReproduceResult::End end_of(bool exact, NothingIsPossible& engine) {
  Trace trace;
  trace.threads.emplace_back();
  trace.exact = exact;
  trace.failure.kind = FailurePredicate::Kind::reached;
  NothingRuns executor;
  const ReproduceOptions options{.models = {MemoryModel::sc, MemoryModel::tso}, .clocks = false};
  const Result<ReproduceResult> result = reproduce(trace, {}, engine, executor, options, {});
  EXPECT_TRUE(result);
  return result ? result->end : ReproduceResult::End::reproduced;
}

TEST(Reproduce, WhatIsNotExactProvesNothing) {
  NothingIsPossible engine;
  EXPECT_EQ(end_of(true, engine), ReproduceResult::End::impossible);
  engine.models.clear();
  EXPECT_EQ(end_of(false, engine), ReproduceResult::End::undecided);
  EXPECT_EQ(engine.models, (std::vector{MemoryModel::sc, MemoryModel::tso})) << "all the same, both are tried";
}

// One order, and then the time is over.
class OneOrder : public Engine {
 public:
  std::string_view name() const override { return "one"; }
  SolveAnswer solve(const Problem&, const SolveLimits&) override {
    return {.verdict = asked++ == 0 ? SolveVerdict::found : SolveVerdict::undecided,
            .why = "the time was over"};
  }
  unsigned asked = 0;
};

class EverythingPasses : public Executor {
 public:
  Result<Execution> execute(const ExecutionPlan&) override { return Execution{.outcome = Outcome::passed}; }
};

TEST(Reproduce, WithoutTimeForTheNextOrderItIsUndecided) {
  Trace trace;
  trace.threads.emplace_back().name = "0";
  trace.failure.kind = FailurePredicate::Kind::reached;
  EverythingPasses executor;
  OneOrder engine;
  const Result<ReproduceResult> result = reproduce(trace, {}, engine, executor, {.clocks = false}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ReproduceResult::End::undecided);
  ASSERT_EQ(result->attempts.size(), 2u);
  EXPECT_FALSE(result->attempts[0].replay.empty());
  EXPECT_EQ(result->attempts[1].answer.why, "the time was over");
}

// It is possible only if the clocks may be wrong by much; then it takes too long.
class ClocksMissByMuch : public Engine {
 public:
  std::string_view name() const override { return "clocks"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits&) override {
    uses.emplace_back(problem.clocks, problem.clock_slack);
    const bool strict = problem.clocks && problem.clock_slack < kLargeClockSlack;
    return {.verdict = strict ? SolveVerdict::impossible : SolveVerdict::undecided};
  }
  std::vector<std::pair<bool, uint64_t>> uses;
};

TEST(Reproduce, AssumptionsAboutClocksAreDroppedOneByOne) {
  Trace trace;
  trace.threads.emplace_back();
  trace.failure.kind = FailurePredicate::Kind::reached;
  NothingRuns executor;
  ClocksMissByMuch engine;
  const Result<ReproduceResult> result = reproduce(trace, {}, engine, executor, {}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ReproduceResult::End::undecided);
  using Uses = std::vector<std::pair<bool, uint64_t>>;
  EXPECT_EQ(engine.uses, (Uses{{true, kClockSlack}, {true, kLargeClockSlack}, {false, 0}}));
}

}  // namespace
}  // namespace heddle
