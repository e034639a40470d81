// A run as a list of moments, one for each event and each decision of its schedule, so that it can be put into
// another order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "replay/executor.h"

namespace heddle {

inline constexpr size_t kNoEvent = static_cast<size_t>(-1);

struct Moment {
  StepKind kind = StepKind::run;
  uint32_t thread = 0;
  size_t event = kNoEvent;  // run: which; flush: the store that becomes visible, where it is known
  size_t step = 0;          // of the schedule
  std::shared_ptr<const Location> location;  // flush under PSO
};

// Events are numbered as in Execution::kept_events; behind them come the pending ones, which a thread was about
// to perform when the run ended.
class RunOrder {
 public:
  // Requires: a run with ExecutionPlan::keep_events. Must not outlive it.
  explicit RunOrder(const Execution& run);

  const Execution& run() const { return run_; }
  const std::vector<Moment>& moments() const { return moments_; }
  // False: the run was longer than what could be kept of it.
  bool complete() const { return complete_; }

  size_t event_count() const { return run_.kept_events.size(); }
  bool is_pending(size_t event) const { return event >= event_count(); }
  const heddle_event& event(size_t number) const {
    return is_pending(number) ? run_.pending_events[number - event_count()] : run_.kept_events[number];
  }
  // Performed and pending.
  size_t all_events() const { return event_count() + run_.pending_events.size(); }
  // Of this thread, from 0.
  size_t ordinal(size_t event) const { return ordinal_[event]; }
  const std::vector<size_t>& events_of(uint32_t thread) const { return by_thread_[thread]; }
  // Position in moments(); their number for pending events.
  size_t moment_of(size_t event) const { return moment_of_[event]; }
  // Position in moments() where the store became visible: its own unless it was buffered.
  size_t visible_at(size_t store) const { return visible_at_[store]; }
  bool was_buffered(size_t store) const { return visible_at_[store] != moment_of_[store]; }

 private:
  void find_visibility();

  const Execution& run_;
  std::vector<Moment> moments_;
  std::vector<size_t> ordinal_, moment_of_, visible_at_;
  std::vector<std::vector<size_t>> by_thread_;
  bool complete_ = true;
};

// A schedule for these moments, to be followed as far as they go.
Schedule schedule_of(const std::vector<Moment>& moments, const Schedule& like);

}  // namespace heddle
