#include "driver/reproduce.h"

#include <gtest/gtest.h>

#include <thread>

#include "solve/ordering.h"
#include "trace/trace_fixture.h"

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

// The failure shows in the tenth run that no order guides.
class FailsInTheEnd : public Executor {
 public:
  Result<Execution> execute(const ExecutionPlan& plan) override {
    if (plan.guide != nullptr || plan.schedule == nullptr) ++runs;
    if (plan.schedule == nullptr && runs < 10) {
      Execution other{.outcome = runs % 2 == 0 ? Outcome::passed : Outcome::failed};
      if (runs % 2 != 0) other.failure = Failure{.kind = "abort", .identity = "another"};
      return other;
    }
    return Execution{.outcome = Outcome::failed, .failure = Failure{.kind = "assert", .identity = "the one"}};
  }
  unsigned runs = 0;
};

TEST(Reproduce, WhereNoOrderLeadsThereRunsLookForTheFailure) {
  Trace trace;
  trace.threads.emplace_back().name = "0";
  trace.failure.kind = FailurePredicate::Kind::reached;
  const RecordedFailure failure{.kind = "assert", .identity = "the one"};
  ReproduceOptions options{.models = {MemoryModel::sc, MemoryModel::tso},
                           .clocks = false,
                           .shorten = false,
                           .search = std::chrono::minutes(1)};
  FailsInTheEnd executor;
  NothingIsPossible engine;
  const Result<ReproduceResult> result = reproduce(trace, failure, engine, executor, options, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ReproduceResult::End::reproduced);
  EXPECT_TRUE(result->found_by_search);
  EXPECT_EQ(result->searched, 10U);

  options.models = {MemoryModel::sc};
  FailsInTheEnd not_run;
  const Result<ReproduceResult> proved = reproduce(trace, failure, engine, not_run, options, {});
  ASSERT_TRUE(proved);
  EXPECT_EQ(proved->end, ReproduceResult::End::impossible) << "under a model that was chosen";
  EXPECT_EQ(not_run.runs, 0U);
}

// What was found fails again; no shorter schedule does, and there is no end of them.
class NothingShorterFails : public Executor {
 public:
  NothingShorterFails() {
    found_.header = {.program = "a", .identity = std::string(32, '0'), .folder = "/", .command = {"a"}};
    found_.threads = {{.name = ThreadName()}, {.name = ThreadName().child(0)}};
    for (size_t i = 0; i < 100; ++i) found_.steps.push_back(Step::run(ThreadIndex(i % 2), 3));
  }
  Result<Execution> execute(const ExecutionPlan& plan) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (plan.guide == nullptr && (plan.schedule == nullptr || plan.schedule->steps != found_.steps))
      return Execution{.outcome = Outcome::passed, .schedule = found_, .runs = 1};
    return Execution{.outcome = Outcome::failed,
                     .failure = Failure{.kind = "assert", .identity = "the one"},
                     .schedule = found_,
                     .runs = 1};
  }

 private:
  Schedule found_;
};

TEST(Reproduce, ShorteningKeepsToTheTime) {
  Trace trace;
  trace.threads.emplace_back().name = "0";
  trace.failure.kind = FailurePredicate::Kind::reached;
  NothingShorterFails executor;
  OneOrder engine;
  const ReproduceOptions options{
      .clocks = false, .time = std::chrono::milliseconds(100), .shorten_time = std::chrono::seconds(10)};
  const auto begin = std::chrono::steady_clock::now();
  const Result<ReproduceResult> result =
      reproduce(trace, {.kind = "assert", .identity = "the one"}, engine, executor, options, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ReproduceResult::End::reproduced);
  EXPECT_GT(result->confirmation.shorten_tries, 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// Notes with which stamps it is asked.
class NotingEngine : public Engine {
 public:
  std::string_view name() const override { return "noting"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    uses.emplace_back(problem.clocks, problem.doubted.size());
    return engine_->solve(problem, limits);
  }
  std::vector<std::pair<bool, size_t>> uses;

 private:
  std::unique_ptr<Engine> engine_ = make_ordering_engine();
};

TEST(Reproduce, StampsThatContradictAreDroppedBeforeAllAre) {
  TraceBuilder program(2);
  program.trace.threads[0].name = "0";
  program.trace.threads[1].name = "0.1";
  const auto at = [&](uint32_t thread, uint32_t event, uint64_t from, uint64_t to) {
    program.trace.threads[thread].events[event].tsc_low = from;
    program.trace.threads[thread].events[event].tsc_high = to;
  };
  at(0, program.write(0, 0x1000, 1), 100'000, 110'000);
  at(0, program.write(0, 0x1008, 1), 120'000, 130'000);
  ExprPool& pool = program.pool(1);
  program.require(1, pool.binary(ExprOp::eq, program.read(1, 0x1000), pool.constant(1, 32)));
  at(1, 0, 40'000, 50'000);
  program.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  EverythingPasses executor;
  NotingEngine engine;
  const Result<ReproduceResult> result = reproduce(program.trace, {}, engine, executor, {.orders = 1}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ReproduceResult::End::not_reproduced);
  using Uses = std::vector<std::pair<bool, size_t>>;
  ASSERT_GE(engine.uses.size(), 3U);
  EXPECT_EQ(Uses(engine.uses.begin(), engine.uses.begin() + 3), (Uses{{true, 0}, {true, 1}, {false, 0}}));
  ASSERT_GE(result->attempts.size(), 3U);
  EXPECT_EQ(result->attempts[2].explanation, "");
  EXPECT_EQ(result->attempts[0].answer.verdict, SolveVerdict::impossible);
  EXPECT_EQ(result->attempts[1].answer.verdict, SolveVerdict::found);
}

// Numbers are exact, and nothing is left open between them.
TEST(Reproduce, TheOrderOfSynchronisationHasNoSlack) {
  Trace trace;
  EXPECT_EQ(all_clocks(trace).slack, kClockSlack);
  trace.sync_order = true;
  EXPECT_EQ(all_clocks(trace).slack, 0U);
}

}  // namespace
}  // namespace heddle
