#include "solve/guided_run.h"

#include <algorithm>
#include <set>

namespace heddle {
namespace {

std::optional<uint64_t> taken_by(const Event& event) {
  switch (event.kind) {
    case EventKind::lock:
    case EventKind::read_lock:
    case EventKind::write_lock:
      return event.address;
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return event.second;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> released_by(const Event& event) {
  switch (event.kind) {
    case EventKind::unlock:
    case EventKind::read_unlock:
    case EventKind::write_unlock:
      return event.address;
    case EventKind::wait_begin:
      return event.second;
    default:
      return std::nullopt;
  }
}

}  // namespace

GuidedRun::GuidedRun(const SearchPlan& plan, const SolveLimits& limits)
    : plan_(plan),
      limits_(limits),
      state_(plan),
      can_begin_(state_.begin() == SearchState::Outcome::done),
      passed_(plan.values.size()) {
  for (const std::vector<uint32_t>& steps : plan.step_end) {
    ranks_.emplace_back(steps.size(), kNever);
    due_.emplace_back(steps.size());
    is_stop_.emplace_back(steps.size());
  }
}

// ---- guides

void GuidedRun::lead(std::span<const OrderItem> order) {
  for (size_t t = 0; t < ranks_.size(); ++t) {
    std::ranges::fill(ranks_[t], kNever);
    std::ranges::fill(due_[t], EventRef{kNever, kNever});
  }
  uint32_t rank = 0;
  EventRef last;
  for (const OrderItem& item : order) {
    if (item.flush) {
      due_[item.thread][item.event] = last;
    } else {
      ranks_[item.thread][item.event] = rank++;
      last = {item.thread, item.event};
    }
  }
}

void GuidedRun::lead(std::vector<std::vector<uint32_t>> ranks, Flushes flushes) {
  ranks_ = std::move(ranks);
  for (uint32_t t = 0; t < due_.size(); ++t)
    for (uint32_t e = 0; e < due_[t].size(); ++e)
      due_[t][e] = flushes == Flushes::at_once ? EventRef{t, e} : EventRef{kNever, kNever};
}

// ---- runs

void GuidedRun::go_back(size_t turns) {
  if (turns >= turns_.size()) return;
  for (size_t i = turns_.size(); i-- > turns;) passed_[turns_[i].passed.thread] = turns_[i].passed.event;
  state_.back_to(turns_[turns].mark);
  running_ = turns_[turns].running;
  measures_ = turns_[turns].measures;
  turns_.resize(turns);
  while (!used_.empty() && used_.back().turns >= turns) used_.pop_back();
}

bool GuidedRun::gives_way(uint32_t thread) const {
  const uint32_t position = state_.position(thread);
  return is_stop_[thread][position] && passed_[thread] != position + 1;
}

std::vector<uint32_t> GuidedRun::others_by_rank() const {
  std::vector<std::pair<uint32_t, uint32_t>> able;
  for (uint32_t t = 0; t < ranks_.size(); ++t)
    if (running_ != t && state_.can_go_on(t)) able.push_back({ranks_[t][state_.position(t)], t});
  std::ranges::sort(able);
  std::vector<uint32_t> out;
  for (const auto& [rank, thread] : able) out.push_back(thread);
  return out;
}

// Leaves all as it was if that is refused.
SearchState::Outcome GuidedRun::try_turn(uint32_t thread) {
  ++moves_;
  const bool leaves = running_ && running_ != thread;
  const bool preempts = leaves && state_.can_go_on(*running_);
  const Turn turn{.from = {thread, state_.position(thread)},
                  .mark = state_.mark(),
                  .running = running_,
                  .passed = {thread, passed_[thread]},
                  .measures = measures_};
  const SearchState::Outcome outcome = state_.move(thread);
  if (outcome == SearchState::Outcome::refused) {
    state_.back_to(turn.mark);
    return outcome;
  }
  turns_.push_back(turn);
  measures_.switches += leaves;
  measures_.preemptions += preempts;
  running_ = thread;
  if (plan_.problem->model != MemoryModel::sc) flush_due();
  return outcome;
}

// The first of the other threads that can.
SearchState::Outcome GuidedRun::leave_for_others(std::optional<uint32_t> but) {
  for (const uint32_t thread : others_by_rank()) {
    if (thread == but) continue;
    const SearchState::Outcome outcome = try_turn(thread);
    if (outcome != SearchState::Outcome::refused) return outcome;
  }
  return SearchState::Outcome::refused;
}

void GuidedRun::flush_due() {
  const auto is_due = [&](const OrderItem& store) {
    const EventRef& behind = due_[store.thread][store.event];
    return behind.thread != kNever && state_.position(behind.thread) > behind.event;
  };
  while (true) {
    const std::vector<OrderItem> stores = state_.possible_flushes();
    const auto due = std::ranges::find_if(stores, is_due);
    if (due == stores.end()) return;
    state_.flush(due->thread, due->event);
  }
}

SearchState::Outcome GuidedRun::next_turn() {
  using Outcome = SearchState::Outcome;
  if (!running_ || !state_.can_go_on(*running_)) return leave_for_others();
  const uint32_t thread = *running_, position = state_.position(thread);
  if (!gives_way(thread)) {
    const Outcome outcome = try_turn(thread);
    return outcome == Outcome::refused ? leave_for_others() : outcome;
  }
  const Outcome outcome = leave_for_others();
  if (outcome == Outcome::refused) return try_turn(thread);
  used_.push_back({.at = {thread, position}, .turns = turns_.size() - 1});
  turns_.back().passed = {thread, passed_[thread]};
  passed_[thread] = position + 1;
  return outcome;
}

// Of the locks that are held, the one that was taken last is taken later: not before so many turns, which are
// more each time.
SearchState::Outcome GuidedRun::let_others_lock_first(size_t& least) {
  std::vector<uint32_t> behind;  // by thread: the turn's events end here
  for (uint32_t t = 0; t < ranks_.size(); ++t) behind.push_back(state_.position(t));
  std::multiset<std::pair<uint32_t, uint64_t>> released;
  for (size_t i = turns_.size(); i-- > least;) {
    const EventRef from = turns_[i].from;
    for (uint32_t e = behind[from.thread]; e-- > from.event;) {
      const Event& event = plan_.problem->event({from.thread, e});
      if (const std::optional<uint64_t> mutex = released_by(event)) released.insert({from.thread, *mutex});
      const std::optional<uint64_t> taken = taken_by(event);
      if (!taken) continue;
      if (const auto later = released.find({from.thread, *taken}); later != released.end()) {
        released.erase(later);
      } else if (e == from.event) {
        go_back(i);
        kept_ = std::min(kept_, i);
        least = i + 1;
        return leave_for_others(from.thread);
      }
    }
    behind[from.thread] = from.event;
  }
  return SearchState::Outcome::refused;
}

bool GuidedRun::run(const OrderMeasures& most) {
  using Outcome = SearchState::Outcome;
  kept_ = turns_.size();
  if (!can_begin_) return false;
  size_t least = 0;
  while (!is_better(most, measures_)) {
    if (moves_ % 256 == 0 && limits_.reached()) return false;
    Outcome outcome = next_turn();
    if (outcome == Outcome::refused) outcome = let_others_lock_first(least);
    if (outcome == Outcome::failure) return !is_better(most, measures_);
    if (outcome == Outcome::refused) return false;
  }
  return false;
}

}  // namespace heddle
