// Which reads of a run can return something else in an interleaving of its events: asked before the
// interleavings are enumerated (closure.h). If none can, there is nothing to enumerate; else only as far as the
// last that can.
//
// Two engines answer. One saturates an order (Abdulla et al., OOPSLA 2019; Roemer et al., PLDI 2018): a read
// and a write that it might take its value from instead are ordered, and with them all that has to be, until
// there is a cycle (it cannot) or nothing more follows (it may). It never says no wrongly, and needs no search.
// The other asks Z3 the same with the constraints of MCR (huang-dissertation 3.1.4; 3.2 for store buffers): it
// is there to compare with.
//
// What is understood: reads, writes and updates of up to a word, fences, mutexes that are not nested, creation
// and joining of threads. A run with anything else, or in which somebody may wait for ever, is not asked about.
#pragma once

#include "explore/machine.h"

namespace heddle {

enum class SeedEngine : uint8_t { machine, saturation, smt };

struct RunEvent {
  enum class Kind : uint8_t { reads, writes, updates, locks, unlocks, drains, other } kind = Kind::other;
  uint32_t thread = 0;
  size_t index = 0;  // among the thread's; stores that were in its buffer before come first
  uint64_t address = 0, size = 0;
  uint64_t in = 0, out = 0;
  std::optional<uint64_t> initial;  // what a read would return from memory as it was; nothing: not known
  std::optional<size_t>
      lock;  // of one inside a critical section: the event that began it; one of them is enough

  bool is_read() const { return kind == Kind::reads || kind == Kind::updates; }
  bool is_write() const { return kind == Kind::writes || kind == Kind::updates; }
  bool is_same_place(const RunEvent& other) const { return address == other.address && size == other.size; }
  bool overlaps(const RunEvent& other) const {
    return address < other.address + other.size && other.address < address + size;
  }
};

struct RunEvents {
  std::vector<RunEvent> events;  // of each thread in its order, one behind the other
  std::vector<std::pair<size_t, size_t>>
      joins;                      // of different threads: the first has to come before the second
  std::vector<size_t> unlock_of;  // of an event that locks: the one that unlocks
  MemoryModel model = MemoryModel::sc;
  bool values_are_fixed = true;  // of all other reads; else only the order of events is looked at
};

struct LeavingCounts {
  uint64_t asked = 0;    // reads and sources of another value
  uint64_t refuted = 0;  // of those: without a search, or by the solver
};

// By event. Of reads only.
std::vector<bool> may_leave_by_saturation(const RunEvents& run, LeavingCounts& counts);
std::vector<bool> may_leave_by_smt(const RunEvents& run, LeavingCounts& counts);

}  // namespace heddle
