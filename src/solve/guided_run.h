// A run of a trace along an order, the guide, that leaves threads less often than the guide does.
//
// The running thread goes on until it cannot, until a constraint would not hold, or until it comes to a *stop*:
// a place where it gives way although it could go on. Who comes next is whose next event comes first in the
// guide. With all places where the guide leaves a thread as stops the run does what the guide does; with fewer
// of them threads run on, and the rest follows as far as it can. Buffered writes become visible behind the same
// event as in the guide.
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

class GuidedRun {
 public:
  // All outlive this.
  GuidedRun(const SearchPlan& plan, const SolveLimits& limits);

  // The guide is this order, and its stops are all places where it leaves a thread. Whether the run leads to
  // the failure so.
  bool follow(std::span<const OrderItem> order);
  // Stops of the guide, by the time when they are come to.
  size_t stops() const { return stops_.size(); }
  // Without the stops from `begin` to `end`: if that leads to the failure with smaller measures, or the same
  // and fewer stops, it is the new guide.
  bool leave_out(size_t begin, size_t end);

  // Of the guide.
  const OrderMeasures& measures() const { return guide_measures_; }
  const std::vector<OrderItem>& order() const { return guide_; }
  uint64_t moves() const { return moves_; }

 private:
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  struct Stop {
    EventRef at;
    size_t used = kNever;  // by so many turns
  };
  // A move, with what it takes to take it back.
  struct Turn {
    SearchState::Mark mark;
    std::optional<uint32_t> running;
    EventRef passed;  // what passed_ was
    OrderMeasures measures;
  };

  void set_guide(std::vector<OrderItem> order);
  void set_stops(std::vector<Stop> stops);
  void go_back(size_t turns);
  bool run(const OrderMeasures& most);
  bool is_stop(uint32_t thread) const;
  std::vector<uint32_t> others_by_rank() const;
  SearchState::Outcome try_turn(uint32_t thread);
  void flush_due();

  const SearchPlan& plan_;
  const SolveLimits& limits_;
  SearchState state_;
  std::vector<OrderItem> guide_;
  OrderMeasures guide_measures_;
  std::vector<std::vector<uint32_t>> ranks_;  // by thread and event: place in the guide
  std::vector<std::vector<EventRef>> due_;    // by thread and write: becomes visible behind this event
  std::vector<Stop> stops_;                   // of the guide
  std::vector<std::vector<bool>> is_stop_;    // by thread and event: of the present run
  std::vector<Turn> turns_;
  size_t common_ = 0;  // turns that are as in the guide's run
  std::vector<Stop> used_;
  std::vector<uint32_t> passed_;  // by thread: one behind the event at which it gave way last
  std::optional<uint32_t> running_;
  OrderMeasures measures_;
  bool can_begin_ = false;
  uint64_t moves_ = 0;
};

}  // namespace heddle
