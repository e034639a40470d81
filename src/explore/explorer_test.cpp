// No state missed, none made up: exploration of random small programs against the enumeration of all their
// runs.
#include "explore/explorer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "explore/small_world.h"

namespace heddle {
namespace {

Result<ExploreResult> explored(const SmallProgram& program, MemoryModel model, bool find_all,
                               Algorithm algorithm = Algorithm::trees) {
  SmallExecutor executor(program);
  ExploreOptions options{.algorithm = algorithm, .find_all = find_all, .keep_outcomes = true};
  options.rules.memory_model = model;
  if (algorithm == Algorithm::icb) options.executions = 3000;  // of all schedules there may be millions
  return explore(executor, options, [](const ExploreProgress&) {});
}

constexpr Algorithm kComplete[] = {Algorithm::trees,      Algorithm::mcr,    Algorithm::mcr_s,
                                   Algorithm::mcr_s_plus, Algorithm::se_mcr, Algorithm::dpor};

struct Case {
  Algorithm algorithm;
  const char* name;
  uint64_t share;  // of the programs: the slow ones get fewer
};

class RandomPrograms : public testing::TestWithParam<std::tuple<Case, MemoryModel>> {};

// The sets of what all reads returned, not only their numbers; and whether something fails or stands still.
TEST_P(RandomPrograms, HaveTheOutcomesOfAllTheirRuns) {
  const auto& [tested, model] = GetParam();
  const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS");
  const uint64_t count = (wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 400) / tested.share;
  uint64_t failing = 0, executions = 0, outcomes = 0, redundant = 0;
  const char* first = std::getenv("HEDDLE_TEST_FIRST");
  for (uint64_t seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1; seed <= count; ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const AllRuns all(program, model);
    const Result<ExploreResult> result = explored(program, model, true, tested.algorithm);
    ASSERT_TRUE(result) << seed;
    if (result->end == ExploreResult::End::limit) {
      ASSERT_TRUE(std::ranges::includes(all.outcomes, result->outcomes)) << "seed " << seed;
      continue;
    }
    const bool fails = all.fails || all.stands;
    ASSERT_EQ(result->end, fails ? ExploreResult::End::failure : ExploreResult::End::all)
        << "seed " << seed << ": " << result->why;
    failing += fails;
    ASSERT_EQ(result->outcomes, all.outcomes) << "seed " << seed;
    if (fails) continue;  // what ends well beside a failure is counted with what fails
    ASSERT_EQ(result->progress.ends, all.outcomes.size()) << "seed " << seed;
    outcomes += all.outcomes.size();
    executions += result->progress.executions;
    redundant += result->progress.redundant;
  }
  if (tested.algorithm != Algorithm::icb && first == nullptr) EXPECT_GT(failing, count / 100);
  RecordProperty("executions", std::to_string(executions));
  RecordProperty("outcomes", std::to_string(outcomes));
  RecordProperty("redundant", std::to_string(redundant));
  if (tested.algorithm == Algorithm::trees) EXPECT_GT(outcomes, executions);  // same inputs, different company
  if (tested.algorithm == Algorithm::se_mcr) EXPECT_EQ(executions, outcomes);
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomPrograms,
    testing::Combine(testing::Values(Case{Algorithm::trees, "trees", 1}, Case{Algorithm::mcr, "mcr", 4},
                                     Case{Algorithm::mcr_s, "mcr_s", 4},
                                     Case{Algorithm::mcr_s_plus, "mcr_s_plus", 4},
                                     Case{Algorithm::se_mcr, "se_mcr", 2}, Case{Algorithm::icb, "icb", 40},
                                     Case{Algorithm::dpor, "dpor", 2}),
                     testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso)),
    [](const auto& given) {
      return std::string(std::get<0>(given.param).name) + "_" + std::string(text_of(std::get<1>(given.param)));
    });

// Whichever engine says where seeds have to be looked for; what the solver rules out is at least what
// saturation does.
TEST(Explorer, FindsTheSameByAllEngines) {
  const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) / 100 : 30;
  uint64_t decided[3] = {}, states[3] = {};
  for (uint64_t seed = 1; seed <= count; ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const auto model = static_cast<MemoryModel>(seed % 3);
    const AllRuns all(program, model);
    for (const Algorithm algorithm : {Algorithm::mcr, Algorithm::mcr_s, Algorithm::se_mcr})
      for (const SeedEngine engine : {SeedEngine::machine, SeedEngine::saturation, SeedEngine::smt}) {
        SmallExecutor executor(program);
        ExploreOptions options{
            .algorithm = algorithm, .engine = engine, .find_all = true, .keep_outcomes = true};
        options.rules.memory_model = model;
        const Result<ExploreResult> result = explore(executor, options, [](const ExploreProgress&) {});
        ASSERT_TRUE(result) << seed;
        ASSERT_EQ(result->outcomes, all.outcomes) << "seed " << seed << " engine " << int(engine);
        ASSERT_EQ(result->failures.empty(), !all.fails && !all.stands)
            << "seed " << seed << " engine " << int(engine);
        decided[int(engine)] += result->progress.decided;
        states[int(engine)] += result->progress.states;
      }
  }
  EXPECT_EQ(decided[0], 0u);
  EXPECT_GT(decided[1], 0u);
  EXPECT_GE(decided[2], decided[1]);
  EXPECT_LT(states[1], states[0]);
  EXPECT_LE(states[2], states[1]);
}

// With merged histories outcomes are not told apart, but every value that a read can return is seen.
TEST(Explorer, MissesNoValueWithMergedHistories) {
  const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS");
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1000;
  uint64_t states[2] = {};
  for (uint64_t seed = 1; seed <= count; ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = seed % 4 == 0 ? random_program(random) : forgetful_program(random);
    const auto model = static_cast<MemoryModel>(seed % 3);
    const AllRuns all(program, model);
    const bool fails = all.fails || all.stands;
    for (const bool merged : {false, true}) {
      SmallExecutor executor(program);
      ExploreOptions options{.find_all = true, .counted_states = merged ? 0 : UINT64_MAX, .walks = 0};
      options.rules.memory_model = model;
      const Result<ExploreResult> result = explore(executor, options, [](const ExploreProgress&) {});
      ASSERT_TRUE(result) << seed;
      ASSERT_EQ(result->end, fails ? ExploreResult::End::failure : ExploreResult::End::all)
          << "seed " << seed << ": " << result->why;
      ASSERT_EQ(executor.values, all.values) << "seed " << seed;
      ASSERT_EQ(result->progress.merged, merged);
      states[merged] += result->progress.states;
    }
  }
  EXPECT_LT(states[true], states[false]);
  RecordProperty("states", fmt::format("{} {}", states[false], states[true]));
}

// In a worker process it ends that, now and then.
class DyingExecutor : public SmallExecutor {
 public:
  DyingExecutor(const SmallProgram& program, unsigned of_100)
      : SmallExecutor(program), of_100_(of_100), random_(static_cast<unsigned>(::getpid())) {}

  Result<Execution> execute(const ExecutionPlan& plan) override {
    if (random_() % 100 < of_100_) ::raise(SIGKILL);
    return SmallExecutor::execute(plan);
  }

 private:
  unsigned of_100_;
  std::minstd_rand random_;
};

// The same by worker processes, in small units; they may die in the middle of what they do.
void find_the_same_by_workers(unsigned dying_of_100) {
  uint64_t failing = 0, replaced = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const SmallProgram program = random_program(random);
    const auto model = static_cast<MemoryModel>(seed % 3);
    const AllRuns all(program, model);
    SmallExecutor executor(program);
    ExploreOptions options{.find_all = true, .jobs = 2, .states_of_unit = 1 + seed % 40};
    options.rules.memory_model = model;
    options.make_executor = [&] { return std::make_unique<DyingExecutor>(program, dying_of_100); };
    const Result<ExploreResult> result = explore(executor, options, [](const ExploreProgress&) {});
    ASSERT_TRUE(result) << seed;
    replaced += result->progress.replaced;
    const bool fails = all.fails || all.stands;
    ASSERT_EQ(result->end, fails ? ExploreResult::End::failure : ExploreResult::End::all)
        << "seed " << seed << ": " << result->why;
    failing += fails;
    if (!fails) ASSERT_EQ(result->progress.ends, all.outcomes.size()) << "seed " << seed;
  }
  EXPECT_GT(failing, 3u);
  EXPECT_EQ(replaced > 20, dying_of_100 > 0) << replaced;
}

TEST(Explorer, FindsTheSameByWorkers) {
  find_the_same_by_workers(0);
}

// Not so often that five die at one unit.
TEST(Explorer, FindsTheSameThoughWorkersDie) {
  find_the_same_by_workers(3);
}

// A thread looks at `x` only after it saw `y`: in the first run it does not, and nobody else can tell when the
// store to `x` becomes visible. It must not become visible together with that to `y` for good.
TEST(Explorer, FindsStoresThatAreOvertakenWhereTheFirstRunDidNotLook) {
  using Kind = SmallInstruction::Kind;
  const SmallProgram program{
      {{{.kind = Kind::read, .place = 1},
        {.kind = Kind::skip_if, .number = 0, .skipped = 1},
        {.kind = Kind::read, .place = 0}},
       {{.kind = Kind::write, .place = 0, .number = 1}, {.kind = Kind::write, .place = 1, .number = 1}}}};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso}) {
    const AllRuns all(program, model);
    EXPECT_EQ(all.outcomes.size(), model == MemoryModel::pso ? 3u : 2u);
    for (const Algorithm algorithm : {Algorithm::trees, Algorithm::mcr, Algorithm::mcr_s, Algorithm::mcr_s_plus,
                                      Algorithm::se_mcr, Algorithm::icb, Algorithm::dpor}) {
      const Result<ExploreResult> result = explored(program, model, true, algorithm);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->outcomes, all.outcomes) << int(algorithm) << " " << text_of(model);
    }
  }
}

// What a critical section leaves behind is read outside of it, by threads that go on to write because of it
// (rvexample of the thesis).
TEST(Explorer, FindsWhatIsReadBehindACriticalSection) {
  using Kind = SmallInstruction::Kind;
  const SmallProgram program{{{{.kind = Kind::lock, .place = 0},
                               {.kind = Kind::write, .place = 0, .number = 0},
                               {.kind = Kind::unlock, .place = 0},
                               {.kind = Kind::read, .place = 0},
                               {.kind = Kind::skip_if, .number = 0, .skipped = 3},
                               {.kind = Kind::read, .place = 1},
                               {.kind = Kind::write, .place = 1, .number = 1, .with_last = true},
                               {.kind = Kind::write, .place = 0, .number = 2}},
                              {{.kind = Kind::read, .place = 0},
                               {.kind = Kind::skip_if, .number = 0, .skipped = 3},
                               {.kind = Kind::skip_if, .number = 1, .skipped = 2},
                               {.kind = Kind::read, .place = 1},
                               {.kind = Kind::write, .place = 1, .number = 2}},
                              {{.kind = Kind::lock, .place = 0},
                               {.kind = Kind::write, .place = 0, .number = 1},
                               {.kind = Kind::write, .place = 1, .number = 1},
                               {.kind = Kind::unlock, .place = 0}}}};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso}) {
    const AllRuns all(program, model);
    for (const Algorithm algorithm : kComplete) {
      const Result<ExploreResult> result = explored(program, model, true, algorithm);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->outcomes, all.outcomes) << int(algorithm) << " " << text_of(model);
    }
  }
}

// A state in which nobody can go on is reached although no read returns anything else on the way.
TEST(Explorer, FindsDeadlocksThatNoReadTells) {
  using Kind = SmallInstruction::Kind;
  const SmallProgram program{{{{.kind = Kind::lock, .place = 1},
                               {.kind = Kind::lock, .place = 0},
                               {.kind = Kind::unlock, .place = 0},
                               {.kind = Kind::unlock, .place = 1}},
                              {{.kind = Kind::add, .place = 1, .number = 2},
                               {.kind = Kind::lock, .place = 0},
                               {.kind = Kind::lock, .place = 1},
                               {.kind = Kind::unlock, .place = 1},
                               {.kind = Kind::unlock, .place = 0}}}};
  for (const Algorithm algorithm : {Algorithm::trees, Algorithm::mcr, Algorithm::mcr_s, Algorithm::mcr_s_plus,
                                    Algorithm::se_mcr, Algorithm::icb, Algorithm::dpor}) {
    const Result<ExploreResult> result = explored(program, MemoryModel::sc, true, algorithm);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->end, ExploreResult::End::failure) << int(algorithm);
  }
}

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
