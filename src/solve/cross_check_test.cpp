// The engines against the brute force, on random small problems: whether there is an answer, the fewest
// preemptions, and that answers hold. HEDDLE_CROSS_CHECKS says how many for each memory model;
// HEDDLE_CROSS_SEED with which number they begin.
#include <gtest/gtest.h>

#include <cstdlib>

#include "solve/brute_force.h"
#include "solve/deep_engine.h"
#include "solve/order_measures.h"
#include "solve/ordering.h"
#include "solve/random_problem.h"
#include "solve/search_engine.h"
#include "solve/smt_engine.h"
#include "solve/windows_engine.h"

namespace heddle {
namespace {

constexpr size_t kMostPoints = 5'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void check(const Problem& problem, const SolveAnswer& answer, const BruteForceAnswer& expected) {
  if (expected.kind == BruteForceAnswer::Kind::impossible) {
    EXPECT_EQ(text_of(answer.verdict), "impossible") << answer.why;
    return;
  }
  ASSERT_EQ(text_of(answer.verdict), "found") << answer.why << ", expected " << expected.preemptions;
  const Evaluation evaluation = evaluate(*problem.trace, problem.model, answer.order);
  EXPECT_EQ(evaluation.kind, Evaluation::Kind::holds) << evaluation.text(*problem.trace);
  EXPECT_TRUE(respects_facts(problem, answer.order));
  const OrderMeasures measures = measure(problem, answer.order);
  EXPECT_EQ(answer.preemptions, measures.preemptions);
  EXPECT_EQ(answer.switches, measures.switches);
  if (answer.fewest)
    EXPECT_EQ(answer.preemptions, expected.preemptions);
  else
    EXPECT_GE(answer.preemptions, expected.preemptions);
}

class CrossCheck : public testing::TestWithParam<MemoryModel> {};

TEST_P(CrossCheck, EnginesAgreeWithTheBruteForce) {
  const uint64_t first = from_environment("HEDDLE_CROSS_SEED", 0);
  const uint64_t count = from_environment("HEDDLE_CROSS_CHECKS", 60);
  const uint64_t smt_each = from_environment("HEDDLE_CROSS_SMT_EACH", 10);
  uint64_t found = 0, impossible = 0, preempted = 0, windows = 0;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    const RandomProblem random = random_problem(seed, GetParam());
    const BruteForceAnswer expected = BruteForce(random.problem).solve(kMostPoints);
    if (expected.kind == BruteForceAnswer::Kind::too_large) continue;
    const bool has_answer = expected.kind == BruteForceAnswer::Kind::found;
    (has_answer ? found : impossible) += 1;
    preempted += expected.preemptions > 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SolveLimits limits{.jobs = seed % 2 == 0 ? 1u : 2u};
    const SolveAnswer searched = make_search_engine()->solve(random.problem, limits);
    EXPECT_EQ(searched.fewest, has_answer);
    check(random.problem, searched, expected);
    const SolveAnswer ordered = make_ordering_engine()->solve(random.problem, limits);
    if (ordered.verdict != SolveVerdict::undecided) check(random.problem, ordered, expected);
    const SolveAnswer by_windows = make_windows_engine(3)->solve(random.problem, limits);
    if (by_windows.verdict != SolveVerdict::undecided) check(random.problem, by_windows, expected);
    windows += by_windows.statistics.contains("windows") && !by_windows.statistics.contains("decisions");
    check(random.problem, make_deep_engine()->solve(random.problem, limits), expected);
    if (seed % smt_each != 0) continue;
    const SolveAnswer by_formula = make_smt_engine()->solve(random.problem, limits);
    EXPECT_EQ(by_formula.fewest, has_answer);
    check(random.problem, by_formula, expected);
  }
  RecordProperty("found", std::to_string(found));
  RecordProperty("impossible", std::to_string(impossible));
  RecordProperty("preempted", std::to_string(preempted));
  RecordProperty("windows", std::to_string(windows));
  EXPECT_GT(found, count / 3);
  EXPECT_GT(impossible, count / 6);
  EXPECT_GT(preempted, count / 30);
  if (GetParam() == MemoryModel::sc) EXPECT_GT(windows, count / 30);
}

INSTANTIATE_TEST_SUITE_P(All, CrossCheck, testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& info) { return std::string(text_of(info.param)); });

}  // namespace
}  // namespace heddle
