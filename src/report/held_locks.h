// Which locks each thread held at each event of a run, and where it had taken them.
#pragma once

#include <vector>

#include "report/run_order.h"

namespace heddle {

struct HeldLock {
  uint64_t object = 0;
  size_t taken = 0;            // event that took it
  bool shared = false;         // for reading
  size_t released = kNoEvent;  // event that gave it back; none: held at the end
};

class HeldLocks {
 public:
  explicit HeldLocks(const RunOrder& order);

  // Before the event was performed.
  std::vector<HeldLock> at(size_t event) const;
  // All spans of the run, in the order in which they began.
  const std::vector<HeldLock>& spans() const { return spans_; }
  // Object that the event takes (also tries to) or gives back; 0: none.
  static uint64_t taken_by(const heddle_event& event);
  static uint64_t released_by(const heddle_event& event);

 private:
  const RunOrder& order_;
  std::vector<HeldLock> spans_;
  std::vector<std::vector<size_t>> by_thread_;  // in spans_
};

// A wait for a condition is two events of one kind: it gives the mutex back, then takes it again.
bool is_wait(const heddle_event& event);
// Of an enum heddle_sync_kind; HEDDLE_SYNC_none for accesses.
uint32_t sync_of(const heddle_event& event);

}  // namespace heddle
