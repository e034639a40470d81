// The pipelines of hunt and replay against an executor that says what it is told to.
#include "driver/hunt.h"

#include <gtest/gtest.h>

#include "driver/replay.h"

namespace heddle {
namespace {

Execution failed(const std::string& identity, uint64_t runs = 1) {
  Execution out{
      .outcome = Outcome::failed, .failure = Failure{.kind = "assert", .identity = identity}, .runs = runs};
  out.schedule.header = {.program = "a",
                         .identity = std::string(32, '0'),
                         .folder = "/",
                         .command = {"a"},
                         .failure = identity,
                         .events = 2,
                         .values = "0000000000000007"};
  out.schedule.threads = {{.name = ThreadName()}};
  out.schedule.steps = {Step::run(ThreadIndex(0), 2)};
  out.events = 2;
  out.values = 7;
  return out;
}

Execution with(Outcome outcome, uint64_t runs = 1) {
  Execution out{.outcome = outcome, .runs = runs};
  out.total_events = 10 * runs;
  return out;
}

// Gives the answer of `say`; remembers what it was asked.
class Scripted : public Executor {
 public:
  using Say = std::function<Execution(const ExecutionPlan&)>;
  explicit Scripted(Say say) : say_(std::move(say)) {}
  Result<Execution> execute(const ExecutionPlan& plan) override {
    plans.push_back(plan);
    return say_(plan);
  }
  std::vector<ExecutionPlan> plans;

 private:
  Say say_;
};

bool never() {
  return false;
}

TEST(StrategyMix, RoundsOfAllStrategiesDouble) {
  StrategyMix mix(std::nullopt);
  std::vector<std::string> names;
  std::vector<uint64_t> runs;
  for (int i = 0; i < 17; ++i) {
    const auto batch = mix.next();
    names.push_back(batch.strategy.text());
    runs.push_back(batch.runs);
  }
  EXPECT_EQ(names[0], "nonpreemptive");
  EXPECT_EQ(std::vector(names.begin() + 1, names.begin() + 9),
            (std::vector<std::string>{"random", "pct:2", "pos", "pct:3", "pct:4", "pct:5", "hold", "hold"}));
  EXPECT_EQ(names[9], "random");
  EXPECT_EQ(runs, (std::vector<uint64_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}));
  for (int i = 0; i < 1000; ++i) EXPECT_LE(mix.next().runs, 1024u);
}

TEST(Hunt, PerformsAllRunsWithSeedsOfTheirNumbers) {
  Scripted executor([](const ExecutionPlan& plan) { return with(Outcome::passed, plan.runs); });
  const auto result = hunt(executor, {.seed = 100, .runs = 500}, {}, never);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, HuntResult::End::all_runs);
  EXPECT_EQ(result->state.runs, 500u);
  EXPECT_EQ(result->state.events, 5000u);
  uint64_t next = 100;
  for (const ExecutionPlan& plan : executor.plans) {
    EXPECT_EQ(plan.seed, next);
    next += plan.runs;
  }
}

TEST(Hunt, FailuresAreConfirmedAndWritten) {
  Scripted executor([](const ExecutionPlan& plan) {
    if (plan.schedule != nullptr) return failed("assert x");
    return plan.seed + plan.runs > 20 ? failed("assert x", 21 - plan.seed) : with(Outcome::passed, plan.runs);
  });
  int written = 0;
  HuntEvents events;
  events.found = [&](const Execution& execution) {
    EXPECT_EQ(execution.failure->identity, "assert x");
    ++written;
  };
  const auto result = hunt(executor, {.shorten = false}, events, never);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, HuntResult::End::failure);
  EXPECT_EQ(result->state.runs, 20u);
  EXPECT_EQ(result->confirmation.confirmed, 3u);
  EXPECT_EQ(written, 1);
  EXPECT_TRUE(executor.plans.back().fresh);
}

TEST(Hunt, FailuresOfUsedProcessesOnlyAreDropped) {
  bool trusted = true;
  Scripted executor([&](const ExecutionPlan& plan) {
    if (plan.schedule != nullptr || !trusted) return with(Outcome::passed, plan.runs);
    return failed("assert x");
  });
  const auto result = hunt(executor, {.runs = 10}, {}, [&] { return std::exchange(trusted, false); });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, HuntResult::End::all_runs);
  EXPECT_EQ(result->state.dropped, 1u);
}

TEST(Hunt, FailuresThatCannotBeReplayedAreStillFailures) {
  Scripted executor([&](const ExecutionPlan& plan) {
    return plan.schedule != nullptr ? with(Outcome::diverged) : failed("assert x");
  });
  const auto result = hunt(executor, {.runs = 10}, {}, never);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, HuntResult::End::failure);
  EXPECT_EQ(result->confirmation.confirmed, 0u);
  EXPECT_FALSE(result->confirmation.before);
}

TEST(Hunt, CutOffRunsCountAndTheHuntGoesOn) {
  Scripted executor([](const ExecutionPlan&) { return with(Outcome::limit); });
  const auto result = hunt(executor, {.runs = 10}, {}, never);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->state.cut_off, 10u);
}

TEST(Hunt, StopsForWhatCannotBeControlled) {
  for (const auto& [outcome, end] : {std::pair{Outcome::uncontrolled, HuntResult::End::stopped},
                                     {Outcome::died, HuntResult::End::stopped},
                                     {Outcome::interrupted, HuntResult::End::interrupted},
                                     {Outcome::out_of_time, HuntResult::End::out_of_time}}) {
    Scripted executor([&](const ExecutionPlan&) { return with(outcome); });
    const auto result = hunt(executor, {.runs = 10}, {}, never);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->end, end);
    EXPECT_EQ(executor.plans.size(), 1u);
  }
}

class NoNames : public CodeNames {
 public:
  std::optional<CodePlace> place_of_site(uint32_t) const override { return std::nullopt; }
  std::vector<StackFrame> frames_of(uint64_t, uint64_t, bool) const override { return {}; }
  std::string variable_at(uint64_t, uint64_t) const override { return ""; }
  std::string function_at(uint64_t, uint64_t) const override { return ""; }
};

ReplayResult replayed(Scripted::Say say, uint64_t times) {
  Scripted executor(std::move(say));
  const Schedule schedule = failed("assert x").schedule;
  auto result = replay(schedule, executor, executor, NoNames(), {.times = times}, [](const ReplayResult&) {});
  EXPECT_TRUE(result);
  return *std::move(result);
}

TEST(Replay, TheSameEachTime) {
  const ReplayResult result = replayed([](const ExecutionPlan&) { return failed("assert x"); }, 5);
  EXPECT_EQ(result.reproduced, 5u);
  EXPECT_FALSE(result.divergence);
}

TEST(Replay, WhatIsDifferentIsNamed) {
  using Kind = Divergence::Kind;
  const auto kind = [](const Execution& execution) {
    const ReplayResult result = replayed([&](const ExecutionPlan&) { return execution; }, 1);
    EXPECT_EQ(result.reproduced, 0u);
    return result.divergence->kind;
  };
  EXPECT_EQ(kind(with(Outcome::passed)), Kind::passed);
  EXPECT_EQ(kind(with(Outcome::diverged)), Kind::steps);
  EXPECT_EQ(kind(with(Outcome::uncontrolled)), Kind::stopped);
  EXPECT_EQ(kind(failed("segv y")), Kind::failure);
  Execution longer = failed("assert x");
  longer.schedule.steps[0].count = 3;
  EXPECT_EQ(kind(longer), Kind::length);
  Execution other = failed("assert x");
  other.values = 8;
  EXPECT_EQ(kind(other), Kind::values);
}

TEST(Replay, RunsThatDifferFromOneAnotherNameTheEvent) {
  int run = 0;
  const ReplayResult result = replayed(
      [&](const ExecutionPlan&) {
        Execution out = failed("assert x");
        out.kept_events.resize(2);
        if (++run == 3) {
          out.values = 8;
          out.kept_events[1].value = 5;
        }
        return out;
      },
      4);
  EXPECT_EQ(result.reproduced, 3u);
  EXPECT_EQ(result.diverged_run, 3u);
  ASSERT_TRUE(result.divergence);
  EXPECT_EQ(result.divergence->kind, Divergence::Kind::values);
  EXPECT_EQ(result.divergence->event, 1u);
  EXPECT_EQ(result.divergence->step_text, "run 0 2");
}

TEST(Replay, AnExpectedExitCodeCountsAsFailure) {
  Scripted executor([](const ExecutionPlan&) { return failed("exit:3"); });
  Schedule schedule = failed("exit:3").schedule;
  ASSERT_TRUE(replay(schedule, executor, executor, NoNames(), {}, [](const ReplayResult&) {}));
  EXPECT_EQ(executor.plans[0].rules.failing_codes[0], uint64_t{1} << 3);
}

}  // namespace
}  // namespace heddle
