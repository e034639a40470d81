// A small satisfiability solver with conflict-driven clause learning, to which a theory can be attached:
// watched literals, variable activity, first unique implication point, Luby restarts, phase saving, learned
// clauses thrown away by their number of levels (as in MiniSat and Glucose).
//
// Of the variables of a group at most one is true: these clauses are not stored (groups may grow).
//
// The theory is told all literals in the order in which they became true, may make more of them true (it is
// asked for the reason only when a conflict needs it), and adds clauses and variables when all variables have
// values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "solve/activity_heap.h"

namespace heddle {

struct Literal {
  uint32_t code = 0;  // twice the variable, plus one if negated

  static Literal of(uint32_t variable, bool positive = true) { return {2 * variable + !positive}; }
  uint32_t variable() const { return code / 2; }
  bool is_positive() const { return code % 2 == 0; }
  Literal operator~() const { return {code ^ 1}; }
  friend bool operator==(Literal, Literal) = default;
};

class SatSolver;

class SatTheory {
 public:
  virtual ~SatTheory() = default;
  // New literals are on the trail from `from`. Answers whether there is no conflict; else `conflict` has
  // literals that are all false, though one of them must be true.
  virtual bool propagate(SatSolver& solver, std::vector<Literal>& conflict) = 0;
  virtual void new_level() = 0;
  virtual void backtrack(uint32_t level) = 0;
  // The clause for which the literal is true: the literal, and others that were false before.
  virtual void explain(Literal literal, std::vector<Literal>& clause) = 0;
  // What to decide next; the truth: whatever is most active.
  virtual Literal choose(const SatSolver& solver) = 0;
  // All variables have values. Adds what is wrong with them by SatSolver::add_lemma(); nothing: it is a
  // solution.
  virtual void check_all(SatSolver& solver) = 0;
};

class SatSolver {
 public:
  enum class Answer : uint8_t { satisfiable, unsatisfiable, stopped };
  static constexpr uint32_t kNoGroup = UINT32_MAX;

  SatSolver();

  uint32_t new_variable(bool phase = false);
  uint32_t new_group();
  void add_to_group(uint32_t variable, uint32_t group);
  // requires: before solve(), or by the theory at the level 0
  void add_clause(std::span<const Literal> literals);
  // By the theory, at any time outside of explain(): attached before the search goes on.
  void add_lemma(std::vector<Literal> literals);
  // By the theory in propagate(): requires: it is not false. Nothing happens if it is true.
  void imply(Literal literal);

  Answer solve(SatTheory& theory, const std::function<bool()>& stopped);

  bool is_true(Literal literal) const { return values_[literal.code] > 0; }
  bool is_false(Literal literal) const { return values_[literal.code] < 0; }
  bool is_open(Literal literal) const { return values_[literal.code] == 0; }
  std::span<const Literal> trail() const { return trail_; }
  uint32_t level() const { return static_cast<uint32_t>(level_starts_.size()); }
  uint32_t variables() const { return static_cast<uint32_t>(reasons_.size()); }
  uint64_t bytes() const;                           // of memory, about
  Literal truth() const { return Literal::of(0); }  // always true
  double activity(uint32_t variable) const { return open_.activity(variable); }
  bool phase(uint32_t variable) const { return phases_[variable]; }

  uint64_t conflicts = 0, decisions = 0, propagations = 0, restarts = 0;

 private:
  struct Reason {
    enum class Kind : uint8_t { none, clause, group, theory };
    Kind kind = Kind::none;
    uint32_t data = 0;  // place of the clause; code of the member that is true
  };
  struct Watch {
    uint32_t clause;
    Literal other;  // if it is true, so is the clause
  };
  struct Clause {  // a view
    uint32_t size;
    uint32_t levels;
    Literal* literals;
  };

  Clause clause_at(uint32_t place) {
    return {.size = clauses_[place].code, .levels = clauses_[place + 1].code, .literals = &clauses_[place + 2]};
  }
  uint32_t store(std::span<const Literal> literals, uint32_t levels);
  void watch(uint32_t place);
  void assign(Literal literal, Reason reason);
  bool propagate_clauses();  // false: conflict_
  bool propagate_group(Literal literal);
  bool propagate();
  void backtrack(uint32_t level);
  void reason_of(Literal literal, std::vector<Literal>& out);
  bool resolve_conflict();  // of conflict_; false: there is no solution
  void learn(uint32_t levels);
  bool attach_lemmas();  // false: there is no solution
  bool attach_lemma(std::vector<Literal>& lemma);
  bool is_implied_by_marked(Literal literal);
  void reduce();
  Literal choose();
  uint32_t level_of(Literal literal) const { return levels_[literal.variable()]; }

  std::vector<int8_t> values_;  // by literal: 1 true, -1 false
  std::vector<uint32_t> levels_;
  std::vector<Reason> reasons_;
  std::vector<bool> phases_;
  std::vector<uint8_t> marks_;
  ActivityHeap open_;
  std::vector<Literal> trail_;
  std::vector<uint32_t> level_starts_;
  size_t clause_head_ = 0;
  std::vector<std::vector<Watch>> watches_;  // by literal: clauses to look at when it becomes false
  std::vector<Literal> clauses_;             // as codes: size, levels (0: not learned); then the literals
  uint64_t stored_ = 0;                      // clauses
  std::vector<uint32_t> learned_;
  std::vector<std::vector<uint32_t>> groups_;
  std::vector<uint32_t> group_of_;
  std::vector<std::vector<Literal>> lemmas_;
  std::vector<Literal> conflict_, learning_, reason_;
  std::vector<uint32_t> level_marks_;
  uint32_t level_mark_ = 0;
  uint64_t reduce_at_ = 4000;
  bool impossible_ = false;
  SatTheory* theory_ = nullptr;
};

}  // namespace heddle
