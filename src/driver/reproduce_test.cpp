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

}  // namespace
}  // namespace heddle
