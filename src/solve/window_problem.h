// A part of a problem as a problem of its own: from a state that was reached, a few events of each thread.
//
// What the state knows becomes initial memory, constants in expressions, and some events that come first, in a
// fixed order (carried_state.h). Some of the window's events must be done, others only may: an additional
// thread that waits for the former comes to its end. In the last window the failure has to happen.
#pragma once

#include <vector>

#include "solve/carried_state.h"
#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

class WindowProblem {
 public:
  // By thread: one behind the last event that must be done, and that may be.
  struct Ends {
    std::vector<uint32_t> must, may;
  };
  // The whole problem outlives this. `facts`: of the whole problem, by `after`.
  WindowProblem(const Problem& whole, const std::vector<OrderFact>& facts, const CarriedState& state,
                const Ends& ends, bool last);
  WindowProblem(const WindowProblem&) = delete;
  WindowProblem& operator=(const WindowProblem&) = delete;

  const Problem& problem() const { return problem_; }
  const Trace& trace() const { return trace_; }
  size_t events() const { return events_; }
  // The order of the window in terms of the whole.
  std::vector<EventRef> events_of(const std::vector<OrderItem>& order) const;

 private:
  void add_threads(const CarriedState& state, const Ends& ends);
  void add_kept(const CarriedState& state);
  void add_memory(const CarriedState& state);
  void add_end(const CarriedState& state, const Ends& ends);
  void add_facts(const std::vector<OrderFact>& facts);
  std::optional<EventRef> inside(EventRef event) const;  // of the whole, as it is called here

  const Problem& whole_;
  Trace trace_;
  Problem problem_;
  std::vector<uint32_t> begins_;    // by thread: the first event, of the whole
  std::vector<uint32_t> prologue_;  // by thread: events that come before it here
  size_t events_ = 0;
};

}  // namespace heddle
