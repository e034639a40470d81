// No state missed, none made up: exploration of random small programs against the enumeration of all their
// runs.
#include "explore/explorer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "explore/small_world.h"

namespace heddle {
namespace {

Result<ExploreResult> explored(const SmallProgram& program, MemoryModel model, bool find_all) {
  SmallExecutor executor(program);
  ExploreOptions options{.find_all = find_all};
  options.rules.memory_model = model;
  return explore(executor, options, [](const ExploreProgress&) {});
}

class RandomPrograms : public testing::TestWithParam<MemoryModel> {};

TEST_P(RandomPrograms, HaveTheOutcomesOfAllTheirRuns) {
  const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 400;
  uint64_t failing = 0, executions = 0, outcomes = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const AllRuns all(program, GetParam());
    const Result<ExploreResult> result = explored(program, GetParam(), true);
    ASSERT_TRUE(result) << seed;
    const bool fails = all.fails || all.stands;
    ASSERT_EQ(result->end, fails ? ExploreResult::End::failure : ExploreResult::End::all)
        << "seed " << seed << ": " << result->why;
    failing += fails;
    if (fails) continue;  // what ends well beside a failure is counted with what fails
    ASSERT_EQ(result->progress.ends, all.outcomes.size()) << "seed " << seed;
    outcomes += all.outcomes.size();
    executions += result->progress.executions;
  }
  EXPECT_GT(failing, count / 100);
  EXPECT_GT(outcomes, executions);  // threads meet the same inputs in different company
}

INSTANTIATE_TEST_SUITE_P(AllModels, RandomPrograms,
                         testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& given) { return std::string(text_of(given.param)); });

// Each of two threads fails if it sees the other's store.
SmallProgram both_may_fail() {
  using Kind = SmallInstruction::Kind;
  return {{{{.kind = Kind::write, .place = 0, .number = 1},
            {.kind = Kind::read, .place = 1},
            {.kind = Kind::check, .number = 1}},
           {{.kind = Kind::write, .place = 1, .number = 1},
            {.kind = Kind::read, .place = 0},
            {.kind = Kind::check, .number = 1}}}};
}

TEST(Explorer, StopsAtTheFirstFailureUnlessAskedForAll) {
  const SmallProgram program = both_may_fail();
  const Result<ExploreResult> first = explored(program, MemoryModel::sc, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->end, ExploreResult::End::failure);
  EXPECT_EQ(first->failures.size(), 1u);
  const Result<ExploreResult> all = explored(program, MemoryModel::sc, true);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->failures.size(), 2u);
}

TEST(Explorer, SaysWhichLimitCameFirst) {
  const SmallProgram program = both_may_fail();
  SmallExecutor executor(program);
  const Result<ExploreResult> result =
      explore(executor, {.find_all = true, .executions = 1}, [](const ExploreProgress&) {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ExploreResult::End::limit);
  EXPECT_EQ(result->why, "executions");
}

}  // namespace
}  // namespace heddle
