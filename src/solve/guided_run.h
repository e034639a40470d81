// A run of a trace along a guide, that leaves threads seldom.
//
// The running thread goes on until it cannot, until a constraint would not hold, or until it comes to a *stop*:
// a place where it gives way although it could go on. Who comes next is whose next event comes first in the
// guide. If the guide is an order, and all places where it leaves a thread are stops, the run does what the
// order does; with fewer stops threads run on, and the rest follows as far as it can.
//
// Where nobody can go on, because a thread holds a lock and waits for other values than there are, the run goes
// back to where the lock was taken, and others come first there.
//
// Runs that have a beginning in common share the work for it.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "solve/engine.h"
#include "solve/order_measures.h"
#include "solve/search_state.h"

namespace heddle {

inline constexpr OrderMeasures kAnyMeasures{.switches = UINT32_MAX, .preemptions = UINT32_MAX};

// Fewer preemptions; of as many, fewer switches.
constexpr bool is_better(const OrderMeasures& a, const OrderMeasures& b) {
  return a.preemptions != b.preemptions ? a.preemptions < b.preemptions : a.switches < b.switches;
}

class GuidedRun {
 public:
  struct Stop {
    EventRef at;
    size_t turns = 0;  // that were taken before the thread gave way
  };
  // A thread went on, with what it takes to take it back.
  struct Turn {
    EventRef from;  // its first event
    SearchState::Mark mark;
    std::optional<uint32_t> running;  // before
    EventRef passed;                  // what passed_ was, by thread
    OrderMeasures measures;
  };

  // All outlive this.
  GuidedRun(const SearchPlan& plan, const SolveLimits& limits);

  // The guide is an order. Buffered writes become visible behind the same events as in it.
  void lead(std::span<const OrderItem> order);
  // The guide says for each thread and event when it is to come, smaller numbers first. Buffered writes become
  // visible at once, or when they must.
  enum class Flushes : uint8_t { at_once, when_needed };
  void lead(std::vector<std::vector<uint32_t>> ranks, Flushes flushes);

  void set_stop(EventRef at, bool is_stop) { is_stop_[at.thread][at.event] = is_stop; }
  // To where so many turns were taken.
  void go_back(size_t turns);
  // From where it stands. Whether it came to the failure, with no worse measures.
  bool run(const OrderMeasures& most);
  // How many of the turns that there were when the last run began were not taken back by it.
  size_t kept() const { return kept_; }

  // Of what was carried out.
  const std::vector<Turn>& turns() const { return turns_; }
  const std::vector<Stop>& used() const { return used_; }  // stops at which a thread gave way
  const OrderMeasures& measures() const { return measures_; }
  std::vector<OrderItem> order() const { return order_with_all_flushes(*plan_.problem, state_.order()); }
  uint64_t moves() const { return moves_; }  // of all runs

 private:
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

  bool gives_way(uint32_t thread) const;
  std::vector<uint32_t> others_by_rank() const;
  SearchState::Outcome try_turn(uint32_t thread);
  SearchState::Outcome leave_for_others(std::optional<uint32_t> but = {});
  SearchState::Outcome next_turn();
  SearchState::Outcome let_others_lock_first(size_t& least);
  void flush_due();

  const SearchPlan& plan_;
  const SolveLimits& limits_;
  SearchState state_;
  bool can_begin_;
  std::vector<std::vector<uint32_t>> ranks_;  // by thread and event
  std::vector<std::vector<EventRef>> due_;    // by thread and write: becomes visible behind this event
  std::vector<std::vector<bool>> is_stop_;    // by thread and event
  std::vector<Turn> turns_;
  std::vector<Stop> used_;
  std::vector<uint32_t> passed_;  // by thread: one behind the event at which it gave way last
  std::optional<uint32_t> running_;
  OrderMeasures measures_;
  size_t kept_ = 0;
  uint64_t moves_ = 0;
};

}  // namespace heddle
