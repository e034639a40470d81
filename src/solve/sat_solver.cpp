#include "solve/sat_solver.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {
namespace {

constexpr uint64_t kRestartUnit = 1000;  // conflicts; long, since theories decide in an order that they know

// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...
uint64_t luby(uint64_t index) {
  uint64_t size = 1, power = 1;
  while (size < index + 1) size = 2 * size + 1, power *= 2;
  while (size - 1 != index) {
    size = (size - 1) / 2;
    power /= 2;
    index %= size;
  }
  return power;
}

}  // namespace

SatSolver::SatSolver() {
  new_variable();
  assign(truth(), {});
}

// ---- variables, groups, clauses

uint32_t SatSolver::new_variable(bool phase) {
  const uint32_t variable = variables();
  values_.resize(values_.size() + 2);
  watches_.resize(watches_.size() + 2);
  levels_.push_back(0);
  reasons_.push_back({});
  phases_.push_back(phase);
  marks_.push_back(0);
  group_of_.push_back(kNoGroup);
  open_.add_variable();
  return variable;
}

uint32_t SatSolver::new_group() {
  groups_.emplace_back();
  return static_cast<uint32_t>(groups_.size() - 1);
}

void SatSolver::add_to_group(uint32_t variable, uint32_t group) {
  groups_[group].push_back(variable);
  group_of_[variable] = group;
}

uint32_t SatSolver::store(std::span<const Literal> literals, uint32_t levels) {
  const auto place = static_cast<uint32_t>(clauses_.size());
  ++stored_;
  clauses_.push_back({static_cast<uint32_t>(literals.size())});
  clauses_.push_back({levels});
  clauses_.insert(clauses_.end(), literals.begin(), literals.end());
  return place;
}

void SatSolver::watch(uint32_t place) {
  const Clause clause = clause_at(place);
  watches_[clause.literals[0].code].push_back({.clause = place, .other = clause.literals[1]});
  watches_[clause.literals[1].code].push_back({.clause = place, .other = clause.literals[0]});
}

void SatSolver::add_clause(std::span<const Literal> literals) {
  HEDDLE_CHECK(level() == 0);
  std::vector<Literal> kept;
  for (const Literal literal : literals) {
    if (is_true(literal)) return;
    if (!is_false(literal)) kept.push_back(literal);
  }
  if (kept.empty())
    impossible_ = true;
  else if (kept.size() == 1)
    assign(kept[0], {});
  else
    watch(store(kept, 0));
}

void SatSolver::add_lemma(std::vector<Literal> literals) {
  lemmas_.push_back(std::move(literals));
}

void SatSolver::imply(Literal literal) {
  if (is_open(literal)) assign(literal, {.kind = Reason::Kind::theory});
}

void SatSolver::assign(Literal literal, Reason reason) {
  const uint32_t variable = literal.variable();
  values_[literal.code] = 1;
  values_[(~literal).code] = -1;
  levels_[variable] = level();
  reasons_[variable] = reason;
  trail_.push_back(literal);
}

uint64_t SatSolver::bytes() const {
  constexpr uint64_t kOfVariable = 200, kOfWatches = 32;  // of a clause
  return variables() * kOfVariable + clauses_.capacity() * sizeof(Literal) + stored_ * kOfWatches;
}

// ---- propagation

bool SatSolver::propagate_group(Literal literal) {
  if (!literal.is_positive() || group_of_[literal.variable()] == kNoGroup) return true;
  for (const uint32_t other : groups_[group_of_[literal.variable()]]) {
    const Literal no = Literal::of(other, false);
    if (other == literal.variable() || is_true(no)) continue;
    if (is_false(no)) {
      conflict_ = {~literal, no};
      return false;
    }
    assign(no, {.kind = Reason::Kind::group, .data = literal.code});
  }
  return true;
}

bool SatSolver::propagate_clauses() {
  while (clause_head_ < trail_.size()) {
    const Literal now_true = trail_[clause_head_++];
    ++propagations;
    if (!propagate_group(now_true)) return false;
    const Literal now_false = ~now_true;
    std::vector<Watch>& watches = watches_[now_false.code];
    size_t kept = 0;
    for (size_t i = 0; i < watches.size(); ++i) {
      const Watch seen = watches[i];
      if (is_true(seen.other)) {
        watches[kept++] = seen;
        continue;
      }
      const Clause clause = clause_at(seen.clause);
      Literal* literals = clause.literals;
      if (literals[0] == now_false) std::swap(literals[0], literals[1]);
      const Watch again{.clause = seen.clause, .other = literals[0]};
      if (is_true(literals[0])) {
        watches[kept++] = again;
        continue;
      }
      uint32_t next = 2;
      while (next < clause.size && is_false(literals[next])) ++next;
      if (next < clause.size) {
        std::swap(literals[1], literals[next]);
        watches_[literals[1].code].push_back(again);
        continue;
      }
      watches[kept++] = again;
      if (is_open(literals[0])) {
        assign(literals[0], {.kind = Reason::Kind::clause, .data = seen.clause});
        continue;
      }
      conflict_.assign(literals, literals + clause.size);
      while (++i < watches.size()) watches[kept++] = watches[i];
      watches.resize(kept);
      return false;
    }
    watches.resize(kept);
  }
  return true;
}

bool SatSolver::propagate() {
  do {
    if (!propagate_clauses()) return false;
    conflict_.clear();
    if (!theory_->propagate(*this, conflict_)) return false;
  } while (clause_head_ < trail_.size());
  return true;
}

void SatSolver::backtrack(uint32_t to) {
  if (level() <= to) return;
  const uint32_t start = level_starts_[to];
  for (size_t i = trail_.size(); i-- > start;) {
    const Literal literal = trail_[i];
    values_[literal.code] = values_[(~literal).code] = 0;
    phases_[literal.variable()] = literal.is_positive();
    open_.insert(literal.variable());
  }
  trail_.resize(start);
  level_starts_.resize(to);
  clause_head_ = start;
  theory_->backtrack(to);
}

// ---- search

Literal SatSolver::choose() {
  if (const Literal wanted = theory_->choose(*this); wanted != truth()) return wanted;
  while (!open_.empty()) {
    const uint32_t variable = open_.pop();
    if (is_open(Literal::of(variable))) return Literal::of(variable, phases_[variable]);
  }
  return truth();
}

SatSolver::Answer SatSolver::solve(SatTheory& theory, const std::function<bool()>& stopped) {
  theory_ = &theory;
  uint64_t until_restart = kRestartUnit;
  while (!impossible_) {
    // Each time: with long expressions a single propagation takes a while.
    if (stopped()) return Answer::stopped;
    if (!propagate()) {
      if (!resolve_conflict()) break;
      if (until_restart > 0) --until_restart;
      if (learned_.size() >= reduce_at_) {
        reduce();
        reduce_at_ += 500;
      }
      continue;
    }
    if (!lemmas_.empty()) {
      if (!attach_lemmas()) break;
      continue;
    }
    if (until_restart == 0) {
      backtrack(0);
      until_restart = kRestartUnit * luby(++restarts);
      continue;
    }
    const Literal decision = choose();
    if (decision == truth()) {
      theory.check_all(*this);
      if (stopped()) return Answer::stopped;
      if (lemmas_.empty() && clause_head_ == trail_.size() && open_.empty()) return Answer::satisfiable;
      continue;
    }
    ++decisions;
    level_starts_.push_back(static_cast<uint32_t>(trail_.size()));
    theory.new_level();
    assign(decision, {});
  }
  impossible_ = true;
  return Answer::unsatisfiable;
}

}  // namespace heddle
