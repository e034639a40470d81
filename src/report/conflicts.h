// Pairs of events of two threads whose order may matter, from one run: accesses to the same bytes of which one
// writes, and operations on the same synchronisation object whose result depends on their order.
#pragma once

#include <vector>

#include "report/held_locks.h"
#include "report/run_order.h"

namespace heddle {

struct ConflictPair {
  size_t first = 0, second = 0;  // events; the second may be pending
  // The event that the thread of `first` must be held back from so that `second` can come before `first`: the
  // beginning of its critical section when the other thread needs the lock.
  size_t from = 0;
  bool alone = false;  // while the other thread comes to `second`, all others wait, not only that of `first`
  uint64_t moved = 0;  // events that a flip puts on the other side
  enum class Rank : uint8_t { data, choice, section };
  // data: accesses to memory. choice: synchronisation whose result depends on the order, or who waits. section:
  // two critical sections as such.
  Rank rank = Rank::data;
};

// By rank; those with the fewest moved events first; at most so many.
std::vector<ConflictPair> conflict_pairs(const RunOrder& order, const HeldLocks& locks, size_t most);

// Whether both access the same bytes and one of them writes (or ends their life).
bool in_conflict(const heddle_event& left, const heddle_event& right);
bool is_access(const heddle_event& event);
bool is_write(const heddle_event& event);
bool frees(const heddle_event& event);

}  // namespace heddle
