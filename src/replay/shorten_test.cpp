// Shortening against an imitation of the runtime: two counters that threads increment without a lock.
#include "replay/shorten.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "replay/few_preemptions.h"

namespace heddle {
namespace {

using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

// Each of `threads` threads increments a shared counter `rounds` times: event 2i reads it, event 2i + 1 writes
// the sum. Fails when increments were lost. Follows prefixes, then lets threads run on without preemption.
class Counters : public Executor {
 public:
  Counters(size_t threads, uint64_t rounds) : threads_(threads), rounds_(rounds) {}

  Result<Execution> execute(const ExecutionPlan& plan) override {
    ++executions;
    start();
    if (plan.schedule != nullptr) {
      for (const Step& step : plan.schedule->steps) {
        for (uint64_t i = 0; i < step.count; ++i)
          if (!perform(step.thread.index())) return Execution{.outcome = Outcome::diverged, .runs = 1};
      }
    } else if (plan.strategy.kind == Strategy::Kind::pct) {
      return Execution{.runs = plan.runs};  // finds nothing
    }
    const size_t last = out_.steps.empty() ? 0 : out_.steps.back().thread.index();
    for (size_t i = 0; i < 2 * threads_; ++i)
      while (perform((last + i) % threads_)) {
      }
    return finish();
  }

  Execution random_run(uint32_t seed) {
    std::mt19937 random(seed);
    start();
    const auto at_end = [&](uint64_t done) { return done == rounds_ * 2; };
    while (!std::ranges::all_of(done_, at_end)) perform(random() % threads_);
    return *finish();
  }

  uint64_t executions = 0;

 private:
  void start() {
    done_.assign(threads_, 0);
    seen_.assign(threads_, 0);
    counter_ = 0;
    out_ = {};
    out_.header = {.program = "a", .identity = std::string(32, '0'), .folder = "/", .command = {"a"}};
    for (size_t i = 0; i < threads_; ++i)
      out_.threads.push_back(
          {.name = i == 0 ? ThreadName() : ThreadName().child(static_cast<uint32_t>(i - 1))});
  }

  bool perform(size_t thread) {
    if (done_[thread] == rounds_ * 2) return false;
    // All threads but the first are created by its first events.
    if (thread != 0 && done_[0] < thread)
      return done_[0] == rounds_ * 2 ? false : perform(0) && perform(thread);
    if (done_[thread] % 2 == 0)
      seen_[thread] = counter_;
    else
      counter_ = seen_[thread] + 1;
    const bool exits = ++done_[thread] == rounds_ * 2;
    if (out_.steps.empty() || out_.steps.back().thread.index() != thread)
      out_.steps.push_back(Step::run(ThreadIndex(thread), 1));
    else
      ++out_.steps.back().count;
    if (exits) out_.steps.back().end = SegmentEnd::exited;
    return true;
  }

  Result<Execution> finish() {
    Execution out{.schedule = out_, .runs = 1};
    if (counter_ == threads_ * rounds_) return out;
    out.outcome = Outcome::failed;
    out.failure = Failure{.kind = "assert", .identity = "assert counter"};
    return out;
  }

  size_t threads_;
  uint64_t rounds_;
  std::vector<uint64_t> done_, seen_;
  uint64_t counter_ = 0;
  Schedule out_;
};

TEST(Shorten, ALostUpdateNeedsOnePreemption) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Counters program(2, 20);
    Execution failing = program.random_run(seed);
    if (failing.outcome != Outcome::failed) continue;
    const auto result = shorten(failing, program, {.deadline = SteadyClock::now() + seconds(20)});
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->finished);
    EXPECT_TRUE(result->best.failed_as("assert counter"));
    EXPECT_EQ(measure(result->best.schedule).preemptions, 1u) << seed;
    EXPECT_LE(measure(result->best.schedule).segments, 4u) << seed;
  }
}

TEST(FewPreemptions, FindsTheFailureAtTheFirstBoundThatHasIt) {
  for (const uint64_t bound : {0u, 1u, 2u}) {
    Counters program(3, 4);
    const Execution any = program.random_run(1);
    const auto result = look_with_few_preemptions(
        "assert counter", any.schedule.header, program,
        {.bound = bound, .runs = 10000, .deadline = SteadyClock::now() + seconds(20)});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->found.has_value(), bound > 0);
    EXPECT_LT(result->runs, 200u);
    if (result->found) EXPECT_LE(measure(result->found->schedule).preemptions, bound);
  }
}

TEST(FewPreemptions, KeepsItsLimits) {
  Counters program(6, 50);
  const Execution any = program.random_run(1);
  FewPreemptionsOptions options{.bound = 2, .runs = 30, .deadline = SteadyClock::now() + seconds(20)};
  auto result = look_with_few_preemptions("another failure", any.schedule.header, program, options);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->found);
  EXPECT_LE(result->runs, 30u);
  options.deadline = SteadyClock::now() - seconds(1);
  result = look_with_few_preemptions("another failure", any.schedule.header, program, options);
  ASSERT_TRUE(result);
  EXPECT_LE(result->runs, 1u);
}

TEST(Shorten, ManyThreads) {
  Counters program(6, 10);
  const Execution failing = program.random_run(3);
  ASSERT_EQ(failing.outcome, Outcome::failed);
  const auto result = shorten(failing, program, {.deadline = SteadyClock::now() + seconds(20)});
  ASSERT_TRUE(result);
  EXPECT_LE(measure(result->best.schedule).preemptions, 2u);
  EXPECT_LT(result->tries, 4000u);
}

TEST(Shorten, StopsAtTheDeadlineAndWhenAsked) {
  Counters program(2, 20);
  const Execution failing = program.random_run(1);
  ASSERT_EQ(failing.outcome, Outcome::failed);
  auto result = shorten(failing, program, {.deadline = SteadyClock::now() - seconds(1)});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tries, 0u);
  EXPECT_FALSE(result->finished);
  EXPECT_EQ(result->best.schedule, failing.schedule);
  int left = 5;
  result = shorten(failing, program,
                   {.deadline = SteadyClock::now() + seconds(20), .give_up = [&] { return --left < 0; }});
  ASSERT_TRUE(result);
  EXPECT_LE(result->tries, 5u);
  EXPECT_TRUE(result->best.failed_as("assert counter"));
}

TEST(Shorten, AnotherFailureDoesNotCount) {
  class Other : public Counters {
   public:
    using Counters::Counters;
    Result<Execution> execute(const ExecutionPlan& plan) override {
      Execution run = *Counters::execute(plan);
      if (run.failure) run.failure->identity = "segv";
      return run;
    }
  } program(2, 5);
  const Execution failing = program.random_run(1);
  ASSERT_EQ(failing.outcome, Outcome::failed);
  const auto result = shorten(failing, program, {.deadline = SteadyClock::now() + seconds(20)});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->best.schedule, failing.schedule);
}

}  // namespace
}  // namespace heddle
