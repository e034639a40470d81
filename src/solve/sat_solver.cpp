#include "solve/sat_solver.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr uint32_t kHeader = 2;          // words of a clause before its literals
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

uint32_t SatSolver::new_variable(bool phase, double activity) {
  const uint32_t variable = variables();
  values_.resize(values_.size() + 2);
  watches_.resize(watches_.size() + 2);
  levels_.push_back(0);
  trail_places_.push_back(0);
  reasons_.push_back({});
  phases_.push_back(phase);
  marks_.push_back(0);
  activities_.push_back(activity * activity_step_);
  heap_places_.push_back(kNowhere);
  group_of_.push_back(kNoGroup);
  heap_insert(variable);
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
  trail_places_[variable] = static_cast<uint32_t>(trail_.size());
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
    heap_insert(literal.variable());
  }
  trail_.resize(start);
  level_starts_.resize(to);
  clause_head_ = start;
  theory_->backtrack(to);
}

// ---- conflicts

void SatSolver::reason_of(Literal literal, std::vector<Literal>& out) {
  const Reason reason = reasons_[literal.variable()];
  out.clear();
  switch (reason.kind) {
    case Reason::Kind::none:
      return;
    case Reason::Kind::clause: {
      const Clause clause = clause_at(reason.data);
      out.assign(clause.literals, clause.literals + clause.size);
      return;
    }
    case Reason::Kind::group:
      out = {literal, ~Literal{reason.data}};
      return;
    case Reason::Kind::theory:
      theory_->explain(literal, out);
      return;
  }
}

// A literal of the learned clause is not needed if all others of its reason are there anyway.
bool SatSolver::is_implied_by_marked(Literal literal) {
  const Reason reason = reasons_[literal.variable()];
  if (reason.kind == Reason::Kind::group) return marks_[Literal{reason.data}.variable()] != 0;
  if (reason.kind != Reason::Kind::clause) return false;
  const Clause clause = clause_at(reason.data);
  return std::all_of(clause.literals, clause.literals + clause.size, [&](Literal other) {
    return other.variable() == literal.variable() || marks_[other.variable()] != 0 || level_of(other) == 0;
  });
}

bool SatSolver::resolve_conflict() {
  ++conflicts;
  uint32_t highest = 0;
  for (const Literal literal : conflict_) highest = std::max(highest, level_of(literal));
  if (highest == 0) return false;
  backtrack(highest);  // a theory may find out late

  learning_.assign(1, {});
  std::vector<Literal> marked;
  uint32_t open = 0;
  size_t place = trail_.size();
  reason_ = conflict_;
  Literal unique{};
  while (true) {
    for (const Literal literal : reason_) {
      const uint32_t variable = literal.variable();
      if (marks_[variable] != 0 || levels_[variable] == 0 || is_true(literal)) continue;
      marks_[variable] = 1;
      marked.push_back(literal);
      bump(variable);
      if (levels_[variable] == highest)
        ++open;
      else
        learning_.push_back(literal);
    }
    do unique = trail_[--place];
    while (marks_[unique.variable()] == 0);
    if (--open == 0) break;
    reason_of(unique, reason_);
  }
  learning_[0] = ~unique;
  std::erase_if(learning_,
                [&](Literal literal) { return literal != ~unique && is_implied_by_marked(literal); });
  for (const Literal literal : marked) marks_[literal.variable()] = 0;

  uint32_t back = 0;
  ++level_mark_;
  level_marks_.resize(level() + 1);
  uint32_t levels = 0;
  for (size_t i = 0; i < learning_.size(); ++i) {
    const uint32_t of = level_of(learning_[i]);
    if (level_marks_[of] != level_mark_) level_marks_[of] = level_mark_, ++levels;
    if (i == 0) continue;
    back = std::max(back, of);
    if (of > level_of(learning_[1])) std::swap(learning_[1], learning_[i]);
  }
  backtrack(back);
  learn(levels);
  activity_step_ /= 0.95;
  return true;
}

void SatSolver::learn(uint32_t levels) {
  if (learning_.size() == 1) return assign(learning_[0], {});
  const uint32_t place = store(learning_, levels);
  watch(place);
  learned_.push_back(place);
  assign(learning_[0], {.kind = Reason::Kind::clause, .data = place});
}

// Literals that are not false come first, then the latest ones.
bool SatSolver::attach_lemma(std::vector<Literal>& lemma) {
  std::erase_if(lemma, [&](Literal literal) { return is_false(literal) && level_of(literal) == 0; });
  if (lemma.empty()) return false;
  for (const Literal literal : lemma)
    if (is_true(literal) && level_of(literal) == 0) return true;
  const auto rank = [&](Literal literal) { return is_false(literal) ? level_of(literal) : UINT32_MAX; };
  std::ranges::sort(lemma, [&](Literal a, Literal b) { return rank(a) > rank(b); });
  if (lemma.size() == 1) {
    backtrack(0);
    if (is_open(lemma[0])) assign(lemma[0], {});
    return true;
  }
  // Only a clause that has two literals that are not false can be watched now; others make us go back.
  if (is_false(lemma[1])) {
    if (is_false(lemma[0])) {
      if (level_of(lemma[0]) == level_of(lemma[1])) {
        watch(store(lemma, 0));
        conflict_ = lemma;
        return resolve_conflict();
      }
    }
    if (!is_true(lemma[0]) || level_of(lemma[0]) > level_of(lemma[1])) backtrack(level_of(lemma[1]));
  }
  const uint32_t place = store(lemma, 0);
  watch(place);
  if (is_false(lemma[1]) && is_open(lemma[0])) assign(lemma[0], {.kind = Reason::Kind::clause, .data = place});
  return true;
}

bool SatSolver::attach_lemmas() {
  std::vector<std::vector<Literal>> lemmas;
  lemmas.swap(lemmas_);
  return std::ranges::all_of(lemmas, [&](std::vector<Literal>& lemma) { return attach_lemma(lemma); });
}

// Throws away the worse half of what was learned and is no reason, and closes the gaps.
void SatSolver::reduce() {
  const auto is_reason = [&](uint32_t place) {
    const Literal first = clause_at(place).literals[0];
    const Reason reason = reasons_[first.variable()];
    return is_true(first) && reason.kind == Reason::Kind::clause && reason.data == place;
  };
  std::vector<uint32_t> order = learned_;
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {  // younger ones are better
    const uint32_t left = clause_at(a).levels, right = clause_at(b).levels;
    return left != right ? left > right : a < b;
  });
  std::vector<uint32_t> gone;
  for (size_t i = 0; i < order.size() / 2; ++i)
    if (clause_at(order[i]).levels > 2 && !is_reason(order[i])) gone.push_back(order[i]);
  std::ranges::sort(gone);

  std::vector<Literal> clauses;
  std::vector<uint32_t> learned;
  clauses.reserve(clauses_.size());
  for (std::vector<Watch>& watches : watches_) watches.clear();
  size_t next_gone = 0;
  for (uint32_t place = 0; place < clauses_.size();) {
    const uint32_t words = kHeader + clauses_[place].code;
    if (next_gone < gone.size() && gone[next_gone] == place) {
      ++next_gone;
    } else {
      const auto moved = static_cast<uint32_t>(clauses.size());
      if (is_reason(place)) reasons_[clause_at(place).literals[0].variable()].data = moved;
      if (clause_at(place).levels != 0) learned.push_back(moved);
      clauses.insert(clauses.end(), clauses_.begin() + place, clauses_.begin() + place + words);
    }
    place += words;
  }
  clauses_ = std::move(clauses);
  learned_ = std::move(learned);
  stored_ -= gone.size();
  for (uint32_t place = 0; place < clauses_.size(); place += kHeader + clauses_[place].code) watch(place);
}

// ---- search

void SatSolver::bump(uint32_t variable) {
  if ((activities_[variable] += activity_step_) > 1e100) {
    for (double& activity : activities_) activity *= 1e-100;
    activity_step_ *= 1e-100;
  }
  if (heap_places_[variable] != kNowhere) heap_up(heap_places_[variable]);
}

Literal SatSolver::choose() {
  if (const Literal wanted = theory_->choose(*this); wanted != truth()) return wanted;
  while (!heap_.empty()) {
    const uint32_t variable = heap_pop();
    if (is_open(Literal::of(variable))) return Literal::of(variable, phases_[variable]);
  }
  return truth();
}

SatSolver::Answer SatSolver::solve(SatTheory& theory, const std::function<bool()>& stopped) {
  theory_ = &theory;
  uint64_t until_restart = kRestartUnit;
  uint64_t steps = 0;
  while (!impossible_) {
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
    if (++steps % 64 == 0 && stopped()) return Answer::stopped;
    if (until_restart == 0) {
      backtrack(0);
      until_restart = kRestartUnit * luby(++restarts);
      continue;
    }
    const Literal decision = choose();
    if (decision == truth()) {
      theory.check_all(*this);
      if (stopped()) return Answer::stopped;
      if (lemmas_.empty() && clause_head_ == trail_.size() && heap_.empty()) return Answer::satisfiable;
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

// ---- the heap

void SatSolver::heap_insert(uint32_t variable) {
  if (heap_places_[variable] != kNowhere) return;
  heap_places_[variable] = static_cast<uint32_t>(heap_.size());
  heap_.push_back(variable);
  heap_up(heap_places_[variable]);
}

void SatSolver::heap_up(uint32_t place) {
  const uint32_t variable = heap_[place];
  while (place > 0) {
    const uint32_t parent = (place - 1) / 2;
    if (activities_[heap_[parent]] >= activities_[variable]) break;
    heap_[place] = heap_[parent];
    heap_places_[heap_[place]] = place;
    place = parent;
  }
  heap_[place] = variable;
  heap_places_[variable] = place;
}

void SatSolver::heap_down(uint32_t place) {
  const uint32_t variable = heap_[place];
  while (2 * place + 1 < heap_.size()) {
    uint32_t child = 2 * place + 1;
    if (child + 1 < heap_.size() && activities_[heap_[child + 1]] > activities_[heap_[child]]) ++child;
    if (activities_[heap_[child]] <= activities_[variable]) break;
    heap_[place] = heap_[child];
    heap_places_[heap_[place]] = place;
    place = child;
  }
  heap_[place] = variable;
  heap_places_[variable] = place;
}

uint32_t SatSolver::heap_pop() {
  const uint32_t top = heap_[0];
  heap_places_[top] = kNowhere;
  const uint32_t last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    heap_[0] = last;
    heap_places_[last] = 0;
    heap_down(0);
  }
  return top;
}

}  // namespace heddle
