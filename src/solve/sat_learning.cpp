#include "solve/sat_solver.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr uint32_t kHeader = 2;  // words of a clause before its literals

}  // namespace

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
      open_.raise(variable);
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
  open_.next_round();
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

}  // namespace heddle
