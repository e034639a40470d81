#include "solve/guided_run.h"

#include <algorithm>

namespace heddle {

namespace {

auto key(const OrderMeasures& measures) {
  return std::pair(measures.preemptions, measures.switches);
}

}  // namespace

GuidedRun::GuidedRun(const SearchPlan& plan, const SolveLimits& limits)
    : plan_(plan), limits_(limits), state_(plan), passed_(plan.values.size()) {
  for (const std::vector<uint32_t>& steps : plan.step_end) {
    ranks_.emplace_back(steps.size());
    due_.emplace_back(steps.size());
    is_stop_.emplace_back(steps.size());
  }
  can_begin_ = state_.begin() == SearchState::Outcome::done;
}

bool GuidedRun::follow(std::span<const OrderItem> order) {
  if (!can_begin_) return false;
  std::vector<Stop> stops;
  std::optional<OrderItem> last;
  for (const OrderItem& item : order) {
    if (item.flush) continue;
    if (last && last->thread != item.thread && last->event + 1 < ranks_[last->thread].size())
      stops.push_back({.at = {last->thread, last->event + 1}});
    last = item;
  }
  set_guide({order.begin(), order.end()});
  set_stops(std::move(stops));
  go_back(0);
  if (!run({.switches = kNever, .preemptions = kNever})) return false;
  set_guide(order_with_all_flushes(*plan_.problem, state_.order()));
  set_stops(used_);
  guide_measures_ = measures_;
  common_ = turns_.size();
  return true;
}

bool GuidedRun::leave_out(size_t begin, size_t end) {
  size_t differs = kNever;
  for (size_t i = begin; i < end; ++i) {
    differs = std::min(differs, stops_[i].used);
    is_stop_[stops_[i].at.thread][stops_[i].at.event] = false;
  }
  common_ = std::min(common_, differs);
  go_back(common_);
  const bool better =
      run(guide_measures_) && (key(measures_) < key(guide_measures_) || used_.size() < stops_.size());
  if (!better) {
    for (size_t i = begin; i < end; ++i) is_stop_[stops_[i].at.thread][stops_[i].at.event] = true;
    return false;
  }
  set_guide(order_with_all_flushes(*plan_.problem, state_.order()));
  set_stops(used_);
  guide_measures_ = measures_;
  common_ = turns_.size();
  return true;
}

void GuidedRun::set_guide(std::vector<OrderItem> order) {
  guide_ = std::move(order);
  for (size_t t = 0; t < ranks_.size(); ++t) {
    std::ranges::fill(ranks_[t], kNever);
    std::ranges::fill(due_[t], EventRef{kNever, kNever});
  }
  uint32_t rank = 0;
  EventRef last;
  for (const OrderItem& item : guide_) {
    if (item.flush) {
      due_[item.thread][item.event] = last;
    } else {
      ranks_[item.thread][item.event] = rank++;
      last = {item.thread, item.event};
    }
  }
}

void GuidedRun::set_stops(std::vector<Stop> stops) {
  for (const Stop& stop : stops_) is_stop_[stop.at.thread][stop.at.event] = false;
  stops_ = std::move(stops);
  for (const Stop& stop : stops_) is_stop_[stop.at.thread][stop.at.event] = true;
}

void GuidedRun::go_back(size_t turns) {
  if (turns >= turns_.size()) return;
  for (size_t i = turns_.size(); i-- > turns;) passed_[turns_[i].passed.thread] = turns_[i].passed.event;
  state_.back_to(turns_[turns].mark);
  running_ = turns_[turns].running;
  measures_ = turns_[turns].measures;
  turns_.resize(turns);
  while (!used_.empty() && used_.back().used >= turns) used_.pop_back();
}

bool GuidedRun::is_stop(uint32_t thread) const {
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

// Takes its turn, or leaves all as it was if that is refused.
SearchState::Outcome GuidedRun::try_turn(uint32_t thread) {
  const Turn before{
      .mark = state_.mark(), .running = running_, .passed = {thread, passed_[thread]}, .measures = measures_};
  ++moves_;
  const bool leaves = running_ && running_ != thread;
  const bool preempts = leaves && state_.can_go_on(*running_);
  const SearchState::Outcome outcome = state_.move(thread);
  if (outcome == SearchState::Outcome::refused) {
    state_.back_to(before.mark);
    return outcome;
  }
  turns_.push_back(before);
  measures_.switches += leaves;
  measures_.preemptions += preempts;
  running_ = thread;
  if (plan_.problem->model != MemoryModel::sc) flush_due();
  return outcome;
}

void GuidedRun::flush_due() {
  for (bool any = true; any;) {
    any = false;
    for (const OrderItem& store : state_.possible_flushes()) {
      const EventRef& behind = due_[store.thread][store.event];
      if (behind.thread == kNever || state_.position(behind.thread) <= behind.event) continue;
      state_.flush(store.thread, store.event);
      any = true;
      break;
    }
  }
}

// From where it stands. Gives up where the measures cannot be kept.
bool GuidedRun::run(const OrderMeasures& most) {
  using Outcome = SearchState::Outcome;
  while (key(measures_) <= key(most)) {
    if (moves_ % 256 == 0 && limits_.reached()) return false;
    Outcome outcome = Outcome::refused;
    const bool can_go_on = running_ && state_.can_go_on(*running_);
    const bool gives_way = can_go_on && is_stop(*running_);
    if (can_go_on && !gives_way) outcome = try_turn(*running_);
    if (outcome == Outcome::refused) {
      const std::optional<uint32_t> left = running_;
      for (const uint32_t thread : others_by_rank())
        if ((outcome = try_turn(thread)) != Outcome::refused) break;
      if (gives_way && outcome != Outcome::refused) {
        Turn& turn = turns_.back();
        used_.push_back({.at = {*left, state_.position(*left)}, .used = turns_.size() - 1});
        turn.passed = {*left, passed_[*left]};
        passed_[*left] = state_.position(*left) + 1;
      } else if (gives_way) {
        outcome = try_turn(*running_);
      }
    }
    if (outcome == Outcome::failure) return key(measures_) <= key(most);
    if (outcome == Outcome::refused) return false;
  }
  return false;
}

}  // namespace heddle
