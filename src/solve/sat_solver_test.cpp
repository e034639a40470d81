#include "solve/sat_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace heddle {
namespace {

using Clause = std::vector<Literal>;

// Clauses that the solver is not given: some imply literals as soon as they can, others are looked at when all
// variables have values.
class HiddenClauses : public SatTheory {
 public:
  HiddenClauses(std::vector<Clause> eager, std::vector<Clause> late)
      : eager_(std::move(eager)), late_(std::move(late)) {}

  bool propagate(SatSolver& solver, std::vector<Literal>& conflict) override {
    for (const Clause& clause : eager_) {
      Literal open{};
      size_t open_count = 0;
      bool holds = false;
      for (const Literal literal : clause) {
        holds |= solver.is_true(literal);
        if (!solver.is_open(literal)) continue;
        open = literal;
        ++open_count;
      }
      if (holds || open_count > 1) continue;
      if (open_count == 0) {
        conflict = clause;
        return false;
      }
      reasons_.resize(solver.variables());
      reasons_[open.variable()] = clause;
      solver.imply(open);
    }
    return true;
  }
  void new_level() override { ++levels; }
  void backtrack(uint32_t level) override { levels = level; }
  void explain(Literal literal, std::vector<Literal>& clause) override {
    clause = reasons_[literal.variable()];
    EXPECT_NE(std::ranges::find(clause, literal), clause.end());
  }
  Literal choose(const SatSolver& solver) override { return solver.truth(); }
  void check_all(SatSolver& solver) override {
    for (const Clause& clause : late_)
      if (std::ranges::all_of(clause, [&](Literal literal) { return solver.is_false(literal); }))
        solver.add_lemma(clause);
  }
  uint32_t levels = 0;

 private:
  std::vector<Clause> eager_, late_;
  std::vector<Clause> reasons_;
};

bool holds(const Clause& clause, uint32_t values) {
  return std::ranges::any_of(clause, [&](Literal literal) {
    return ((values >> literal.variable() & 1) != 0) == literal.is_positive();
  });
}

TEST(SatSolver, AgreesWithAllAssignments) {
  std::mt19937_64 random(7);
  unsigned satisfiable = 0;
  constexpr unsigned kRounds = 400;
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto variables = static_cast<uint32_t>(4 + random() % 9);
    SatSolver solver;
    for (uint32_t i = 0; i < variables; ++i) solver.new_variable(random() % 2 == 0);
    std::vector<Clause> given, eager, late, all;
    for (uint64_t count = variables * 4; count > 0; --count) {
      Clause clause;
      for (uint64_t size = 1 + random() % 12; clause.size() < std::min<uint64_t>(size, 3);)
        clause.push_back(Literal::of(static_cast<uint32_t>(1 + random() % variables), random() % 2 == 0));
      all.push_back(clause);
      const uint64_t kind = random() % 3;
      (kind == 0 ? given : kind == 1 ? eager : late).push_back(clause);
    }
    std::vector<uint32_t> group;
    for (uint32_t i = 1; i <= variables; i += 3) group.push_back(i);
    const uint32_t number = solver.new_group();
    for (const uint32_t variable : group) solver.add_to_group(variable, number);
    for (size_t i = 0; i < group.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        all.push_back({Literal::of(group[i], false), Literal::of(group[k], false)});

    bool expected = false;
    for (uint32_t values = 1; values < 2U << variables && !expected; values += 2)
      expected = std::ranges::all_of(all, [&](const Clause& clause) { return holds(clause, values); });
    for (const Clause& clause : given) solver.add_clause(clause);
    HiddenClauses theory(eager, late);
    const SatSolver::Answer answer = solver.solve(theory, [] { return false; });
    ASSERT_EQ(answer == SatSolver::Answer::satisfiable, expected) << round;
    EXPECT_EQ(theory.levels, solver.level());
    satisfiable += expected;
    if (!expected) continue;
    uint32_t values = 0;
    for (uint32_t i = 0; i <= variables; ++i) values |= uint32_t{solver.is_true(Literal::of(i))} << i;
    for (const Clause& clause : all) EXPECT_TRUE(holds(clause, values));
  }
  EXPECT_GT(satisfiable, kRounds / 8);
  EXPECT_LT(satisfiable, kRounds * 7 / 8);
}

// So many pigeons do not fit; needs learning, and throws learned clauses away.
TEST(SatSolver, ProvesThatPigeonsDoNotFit) {
  constexpr uint32_t kHoles = 7;
  SatSolver solver;
  std::vector<uint32_t> holes;
  for (uint32_t hole = 0; hole < kHoles; ++hole) holes.push_back(solver.new_group());
  for (uint32_t pigeon = 0; pigeon <= kHoles; ++pigeon) {
    Clause clause;
    for (const uint32_t hole : holes) {
      clause.push_back(Literal::of(solver.new_variable()));
      solver.add_to_group(clause.back().variable(), hole);
    }
    solver.add_clause(clause);
  }
  HiddenClauses nothing({}, {});
  EXPECT_EQ(solver.solve(nothing, [] { return false; }), SatSolver::Answer::unsatisfiable);
  EXPECT_GT(solver.conflicts, 100U);
}

TEST(SatSolver, StopsWhenItIsAsked) {
  SatSolver solver;
  for (unsigned i = 0; i < 1000; ++i) solver.new_variable();
  HiddenClauses nothing({}, {});
  EXPECT_EQ(solver.solve(nothing, [] { return true; }), SatSolver::Answer::stopped);
  EXPECT_EQ(solver.solve(nothing, [] { return false; }), SatSolver::Answer::satisfiable);
}

}  // namespace
}  // namespace heddle
