// A condition variable: which waiters signals may have woken.
//
// A signal wakes at most one of the threads that wait when it comes (CLAP section 3.2); which one is decided
// only when a waiter goes on. A waiter takes the oldest signal that came after it began to wait. That never
// takes from others what they need: all later signals can be taken by all who could have taken this one, since
// who waited before this one also waited before those. A broadcast wakes all who wait, and takes nothing.
#pragma once

#include <cstdint>
#include <set>

namespace heddle {

class ConditionState {
 public:
  // Times grow.
  void begin_wait() { ++waiters_; }
  void signal(uint64_t time) {
    if (waiters_ > 0) signals_.insert(time);
  }
  void broadcast(uint64_t time) { last_broadcast_ = time; }

  uint64_t waiters() const { return waiters_; }
  const std::set<uint64_t>& signals() const { return signals_; }  // times of those that woke nobody yet
  uint64_t last_broadcast() const { return last_broadcast_; }

  bool is_woken(uint64_t began) const {
    return last_broadcast_ > began || signals_.upper_bound(began) != signals_.end();
  }
  // requires: is_woken(began), if it was woken
  void end_wait(uint64_t began, bool woken) {
    if (woken && last_broadcast_ < began) signals_.erase(signals_.upper_bound(began));
    if (--waiters_ == 0) signals_.clear();
  }

 private:
  uint64_t waiters_ = 0;
  uint64_t last_broadcast_ = 0;
  std::set<uint64_t> signals_;
};

}  // namespace heddle
