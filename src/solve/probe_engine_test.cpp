#include "solve/probe_engine.h"

#include <gtest/gtest.h>

#include "solve/log_shape.h"
#include "solve/order_measures.h"
#include "solve/order_needs.h"
#include "solve/random_problem.h"
#include "solve/search_engine.h"

namespace heddle {
namespace {

TEST(ProbeEngine, FindsTheOnePreemptionOfALongTrace) {
  const LogShape shape(10, 200);
  const SolveAnswer answer = make_probe_engine()->solve(shape.problem(), {});
  ASSERT_EQ(text_of(answer.verdict), "found") << answer.why;
  EXPECT_EQ(answer.preemptions, 1u);
  EXPECT_FALSE(answer.fewest);
  EXPECT_EQ(measure(shape.problem(), answer.order).preemptions, 1u);
}

TEST(ProbeEngine, KeepsToTheBound) {
  const LogShape shape(2, 2);
  const SolveAnswer answer = make_probe_engine()->solve(shape.problem(), {.most_preemptions = 0});
  EXPECT_EQ(text_of(answer.verdict), "undecided");
  EXPECT_FALSE(answer.why.empty());
}

class ProbeEngineOn : public testing::TestWithParam<MemoryModel> {};

TEST_P(ProbeEngineOn, RandomProblems) {
  uint64_t solvable = 0, found = 0;
  for (uint64_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    const RandomProblem random = random_problem(seed, GetParam());
    const Problem& problem = random.problem;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SolveAnswer searched = make_search_engine()->solve(problem, {});
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    const SolveAnswer answer = make_probe_engine()->solve(problem, {.deadline = end});
    solvable += searched.verdict == SolveVerdict::found;
    if (answer.verdict != SolveVerdict::found) continue;
    ++found;
    ASSERT_EQ(text_of(searched.verdict), "found");
    EXPECT_GE(answer.preemptions, searched.preemptions);
    EXPECT_EQ(evaluate(*problem.trace, problem.model, answer.order).kind, Evaluation::Kind::holds);
    EXPECT_TRUE(respects_facts(problem, answer.order));
  }
  EXPECT_GT(found * 10, solvable * 8) << found << " of " << solvable;
}

INSTANTIATE_TEST_SUITE_P(All, ProbeEngineOn,
                         testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& info) { return std::string(text_of(info.param)); });

}  // namespace
}  // namespace heddle
