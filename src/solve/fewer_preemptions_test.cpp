#include "solve/fewer_preemptions.h"

#include <gtest/gtest.h>

#include "solve/engines.h"
#include "solve/log_shape.h"
#include "solve/order_measures.h"
#include "solve/order_needs.h"
#include "solve/ordering.h"
#include "solve/random_problem.h"
#include "solve/search_engine.h"

namespace heddle {
namespace {

SolveAnswer answer_of(const Problem& problem, std::vector<OrderItem> order) {
  const OrderMeasures measures = measure(problem, order);
  return {.verdict = SolveVerdict::found,
          .order = std::move(order),
          .preemptions = measures.preemptions,
          .switches = measures.switches};
}

void expect_holds(const Problem& problem, const SolveAnswer& answer) {
  const Evaluation evaluation = evaluate(*problem.trace, problem.model, answer.order);
  EXPECT_EQ(evaluation.kind, Evaluation::Kind::holds) << evaluation.text(*problem.trace);
  EXPECT_EQ(measure(problem, answer.order),
            (OrderMeasures{.switches = answer.switches, .preemptions = answer.preemptions}));
}

TEST(FewerPreemptions, OfALongOrderOfManySwitches) {
  const LogShape shape(10, 100);
  const Problem problem = shape.problem();
  const SolveAnswer first = answer_of(problem, shape.order_of_many_switches());
  ASSERT_GT(first.preemptions, 100u);
  const SolveAnswer improved = with_fewer_preemptions(problem, first, {});
  expect_holds(problem, improved);
  EXPECT_EQ(improved.preemptions, 1u);
}

TEST(FewerPreemptions, AnOrderIsKeptIfTheTimeIsOver) {
  const LogShape shape(4, 20);
  const Problem problem = shape.problem();
  const SolveAnswer first = answer_of(problem, shape.order_of_many_switches());
  const SolveAnswer same =
      with_fewer_preemptions(problem, first, {.deadline = std::chrono::steady_clock::now()});
  EXPECT_EQ(text_of(same.verdict), "found");
  EXPECT_LE(same.preemptions, first.preemptions);
  expect_holds(problem, same);
}

class FewerPreemptionsOf : public testing::TestWithParam<MemoryModel> {};

TEST_P(FewerPreemptionsOf, RandomProblems) {
  uint64_t found = 0, better = 0, fewest = 0;
  for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    const RandomProblem random = random_problem(seed, GetParam());
    const Problem& problem = random.problem;
    SolveAnswer first = make_ordering_engine()->solve(problem, {});
    if (first.verdict != SolveVerdict::found || first.preemptions == 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SolveAnswer improved = with_fewer_preemptions(problem, first, {});
    expect_holds(problem, improved);
    EXPECT_TRUE(respects_facts(problem, improved.order));
    EXPECT_LE(improved.preemptions, first.preemptions);
    if (improved.preemptions == first.preemptions) EXPECT_LE(improved.switches, first.switches);
    const SolveAnswer searched = make_search_engine()->solve(problem, {});
    ASSERT_TRUE(searched.fewest);
    EXPECT_GE(improved.preemptions, searched.preemptions);
    ++found;
    better += improved.preemptions < first.preemptions;
    fewest += improved.preemptions == searched.preemptions;
  }
  RecordProperty("found", std::to_string(found));
  RecordProperty("better", std::to_string(better));
  RecordProperty("fewest", std::to_string(fewest));
  EXPECT_GT(found, 20u);
  EXPECT_GT(better, 0u);
  EXPECT_GT(fewest * 10, found * 8) << fewest << " of " << found << ", better " << better;
}

INSTANTIATE_TEST_SUITE_P(All, FewerPreemptionsOf,
                         testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& info) { return std::string(text_of(info.param)); });

}  // namespace
}  // namespace heddle
