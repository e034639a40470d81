// Parts of runs of random small programs are runs: executed by a machine that knows nothing of them, every
// event is what it was.
#include "explore/run_needs.h"

#include <gtest/gtest.h>

#include "explore/prediction.h"
#include "explore/small_world.h"

namespace heddle {
namespace {

Execution execute(const SmallProgram& program, MemoryModel model, const Schedule& schedule) {
  SmallExecutor executor(program);
  ExecutionPlan plan{.schedule = &schedule, .full_flushes = true};
  plan.rules.memory_model = model;
  return *executor.execute(plan);
}

// Everybody goes on as it comes.
Execution random_run(const SmallProgram& program, MemoryModel model, std::mt19937_64& random) {
  SmallWorld world(program, model);
  Schedule schedule;
  for (uint32_t t = 0; t < world.thread_count(); ++t)
    schedule.threads.push_back({.name = t == 0 ? ThreadName() : ThreadName().child(t - 1)});
  while (!world.exited && !world.failed) {
    std::vector<Step> possible;
    for (uint32_t t = 0; t < world.thread_count(); ++t) {
      if (world.is_enabled(t)) possible.push_back(Step::run(ThreadIndex(t), 1));
      for (const size_t i : world.flushable(t))
        possible.push_back(Step::flush(ThreadIndex(t), Location::address(world.address_in_buffer(t, i)), 1));
    }
    if (possible.empty()) break;
    const Step& step = possible[random() % possible.size()];
    const auto t = static_cast<uint32_t>(step.thread.index());
    schedule.steps.push_back(step);
    if (step.kind == StepKind::run) {
      world.perform(t);
      continue;
    }
    for (const size_t i : world.flushable(t)) {
      if (world.address_in_buffer(t, i) != step.location->offset) continue;
      world.flush(t, i);
      break;
    }
  }
  return execute(program, model, schedule);
}

// Without what a write overwrites, which may be something else.
std::string text_of(const heddle_event& event) {
  return fmt::format("{} {} {:#x} {} {}", event.thread, event.kind, event.address, event.value,
                     event.kind == HEDDLE_EVENT_write ? 0 : event.after);
}

// Executes the part and compares; how many of its events there were.
size_t expect_same(const SmallProgram& program, MemoryModel model, const Execution& run, const RunNeeds& needs,
                   const RunNeeds::Part& part, uint64_t seed) {
  const Execution again = execute(program, model, needs.schedule_of(part, {}));
  EXPECT_NE(again.outcome, Outcome::diverged) << "seed " << seed;
  size_t event = 0;
  for (uint32_t i = 0; i < part.size(); ++i) {
    if (!part[i] || needs.actions()[i].kind != StepKind::run) continue;
    if (event >= again.kept_events.size()) {
      ADD_FAILURE() << "seed " << seed << ": it ended";
      return event;
    }
    EXPECT_EQ(text_of(again.kept_events[event]), text_of(run.kept_events[needs.actions()[i].event]))
        << "seed " << seed;
    ++event;
  }
  return event;
}

class RunNeedsOfModel : public testing::TestWithParam<MemoryModel> {};

TEST_P(RunNeedsOfModel, HasPartsThatAreRuns) {
  size_t smaller = 0, events = 0;
  for (uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const Execution run = random_run(program, GetParam(), random);
    const RunNeeds needs(run, GetParam());
    const auto count = static_cast<uint32_t>(needs.actions().size());
    for (unsigned i = 0; i < 20; ++i) {
      const std::array wanted{static_cast<uint32_t>(random() % count), static_cast<uint32_t>(random() % count)};
      const std::array never{static_cast<uint32_t>(random() % count)};
      if (const auto part = needs.smallest(wanted, never)) {
        EXPECT_TRUE((*part)[wanted[0]] && (*part)[wanted[1]] && !(*part)[never[0]]);
        EXPECT_TRUE(needs.may_be(wanted, never)) << "seed " << seed;
        smaller += std::ranges::count(*part, true) < count;
        events += expect_same(program, GetParam(), run, needs, *part, seed);
      }
      const RunNeeds::Part most = needs.largest(never, static_cast<uint32_t>(random() % (count + 1)));
      EXPECT_FALSE(most[never[0]]);
      events += expect_same(program, GetParam(), run, needs, most, seed);
    }
  }
  EXPECT_GT(smaller, 1000u);
  EXPECT_GT(events, 10000u);
}

// What is ruled out never happens: a race that is neither shown nor told as not confirmed is none, in any order
// of this run's events that the predictions speak of; and what is confirmed was shown.
TEST_P(RunNeedsOfModel, LeadsToRacesThatAreThere) {
  size_t shown = 0, hidden = 0;
  for (uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const Execution run = random_run(program, GetParam(), random);
    RaceFinder seen, races;
    seen.look_at(run);
    std::vector<Prediction> predictions;
    const Predictor::Means means{
        .execute = [&](const Schedule& schedule) -> Result<Execution> {
          Execution again = execute(program, GetParam(), schedule);
          races.look_at(again);
          return again;
        },
        .has_race = [&](uint32_t site, uint32_t other) { return races.has(site, other); },
        .is_over = [] { return false; }};
    ASSERT_TRUE(Predictor(run, GetParam(), means, predictions).predict());
    for (const Prediction& each : predictions) {
      if (!each.confirmed) continue;
      EXPECT_TRUE(each.kind != Prediction::Kind::race || races.has(each.first.site, each.second.site));
      ++shown;
      hidden += each.kind == Prediction::Kind::race && !seen.has(each.first.site, each.second.site);
    }
  }
  EXPECT_GT(shown, 100u);
  EXPECT_GT(hidden, 5u);
}

INSTANTIATE_TEST_SUITE_P(Models, RunNeedsOfModel,
                         testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& test) { return std::string(text_of(test.param)); });

}  // namespace
}  // namespace heddle
