#include "solve/ordering.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "solve/brute_force.h"
#include "solve/ladder.h"
#include "solve/order_measures.h"
#include "solve/random_problem.h"

namespace heddle {
namespace {

unsigned cross_checks() {
  const char* wanted = std::getenv("HEDDLE_CROSS_CHECKS");
  return wanted == nullptr ? 150 : static_cast<unsigned>(std::atoi(wanted));
}

uint64_t first_seed() {
  const char* wanted = std::getenv("HEDDLE_FIRST_SEED");
  return wanted == nullptr ? 0 : static_cast<uint64_t>(std::atoll(wanted));
}

void expect_holds(const Problem& problem, const SolveAnswer& answer) {
  const Evaluation judged = evaluate(*problem.trace, problem.model, answer.order);
  EXPECT_EQ(judged.kind, Evaluation::Kind::holds) << judged.text(*problem.trace);
  EXPECT_TRUE(respects_facts(problem, answer.order));
  const OrderMeasures measures = measure(problem, answer.order);
  EXPECT_EQ(measures.preemptions, answer.preemptions);
  EXPECT_EQ(measures.switches, answer.switches);
}

class OrderingCrossCheck : public testing::TestWithParam<MemoryModel> {};

TEST_P(OrderingCrossCheck, AgreesWithBruteForce) {
  unsigned found = 0, impossible = 0, undecided = 0;
  std::map<std::string, unsigned> whys;
  for (uint64_t seed = first_seed(); seed < first_seed() + cross_checks(); ++seed) {
    SCOPED_TRACE(seed);
    const RandomProblem random = random_problem(seed, GetParam());
    const SolveAnswer answer = make_ordering_engine()->solve(random.problem, {});
    if (answer.verdict == SolveVerdict::undecided) {
      ++undecided;
      ++whys[answer.why];
      EXPECT_EQ(answer.why.find("does not hold"), std::string::npos) << answer.why;
      continue;
    }
    const BruteForceAnswer expected = BruteForce(random.problem).solve(10'000);
    if (answer.verdict == SolveVerdict::found) {
      ++found;
      expect_holds(random.problem, answer);
      if (answer.fewest) EXPECT_EQ(answer.preemptions, 0);
      if (expected.kind == BruteForceAnswer::Kind::too_large) continue;
      ASSERT_EQ(expected.kind, BruteForceAnswer::Kind::found);
      EXPECT_GE(answer.preemptions, expected.preemptions);
    } else if (expected.kind != BruteForceAnswer::Kind::too_large) {
      ++impossible;
      ASSERT_EQ(expected.kind, BruteForceAnswer::Kind::impossible);
    }
  }
  for (const auto& [why, count] : whys) printf("%s: %u\n", why.c_str(), count);
  printf("found %u impossible %u undecided %u\n", found, impossible, undecided);
  EXPECT_GT(found, 0U);
  EXPECT_GT(impossible, 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, OrderingCrossCheck,
                         testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::pso),
                         [](const auto& info) { return std::string(text_of(info.param)); });

TEST(Ordering, LadderWithClocks) {
  const Ladder ladder(200);
  const Problem problem = ladder.problem(true);
  const SolveAnswer answer = make_ordering_engine()->solve(problem, {});
  ASSERT_EQ(answer.verdict, SolveVerdict::found) << answer.why;
  expect_holds(problem, answer);
}

}  // namespace
}  // namespace heddle
