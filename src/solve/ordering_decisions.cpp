#include "solve/ordering_theory.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr unsigned kReadsToChooseFrom = 10;

}  // namespace

bool OrderingTheory::is_decided(uint32_t read) const {
  return sources_[read] != kNoSource || solver_.is_false(executed_[read]);
}

// Of the first few reads without a source the most active one: what a source means for values is known best
// where all that came before has values, and what is wrong there has causes nearby.
Literal OrderingTheory::choose(const SatSolver& solver) {
  while (first_open_ < reads_in_time_.size() && is_decided(reads_in_time_[first_open_])) ++first_open_;
  uint32_t chosen = UINT32_MAX;
  double most_active = -1;
  unsigned seen = 0;
  for (size_t i = first_open_; i < reads_in_time_.size() && seen < kReadsToChooseFrom; ++i) {
    const uint32_t number = reads_in_time_[i];
    if (is_decided(number)) continue;
    ++seen;
    double activity = 0;
    for (const OrderingCandidate& candidate : model_.reads[number].candidates)
      if (solver.is_open(Literal::of(candidate.variable)))
        activity = std::max(activity, solver.activity(candidate.variable));
    if (activity > most_active) {
      most_active = activity;
      chosen = number;
    }
  }
  return chosen == UINT32_MAX ? solver.truth() : choose_source(chosen);
}

// What it was last time, else the write that came last, about.
Literal OrderingTheory::choose_source(uint32_t number) const {
  const OrderingRead& read = model_.reads[number];
  Literal nearest = solver_.truth();
  uint64_t least = UINT64_MAX;
  for (const OrderingCandidate& candidate : read.candidates) {
    const Literal literal = Literal::of(candidate.variable);
    if (!solver_.is_open(literal)) continue;
    if (solver_.phase(candidate.variable)) return literal;
    const uint64_t distance = model_.distance(read, candidate.write);
    if (distance >= least) continue;
    least = distance;
    nearest = literal;
  }
  return nearest;
}

}  // namespace heddle
