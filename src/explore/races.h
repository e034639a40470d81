// Data races: two accesses of the same memory by different threads, one of them writes, one of them is not
// atomic, and no synchronisation orders them. Found in the events of controlled runs by vector clocks
// (Lamport's happens-before over synchronisation only): the run is an execution that shows the race, whatever
// its order was.
//
// Of all runs of an exploration each pair of places is kept once. Exploration needs no run for an interleaving
// in which its threads do nothing new: where it comes to a state in which two threads are about to touch the
// same memory, it has them do so (tree_search.cpp).
//
// What orders: locks, condition variables, barriers, semaphores, futexes, once-only initialisation, creation
// and joining of threads; atomics with release and acquire, or any atomics in a program with fences; reading
// and writing of pipes and sockets, whichever. Orders that are stronger than the C++ standard's (a lock of
// readers orders readers) may hide a race, and never make one up.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "replay/executor.h"

namespace heddle {

struct RaceSide {
  uint32_t site = HEDDLE_NO_SITE;
  ThreadName thread;
  bool writes = false, atomic = false;
  std::vector<uint64_t> locks;    // held: addresses
  uint64_t event = 0;             // of the run's
  std::vector<StackFrame> stack;  // where it is known
};

struct Race {
  RaceSide first, second;  // in the order of the run
  uint64_t address = 0, size = 0;
  uint64_t load_base = 0;  // of the executable in that run
  Schedule schedule;       // of that run
};

class RaceFinder {
 public:
  // `might`: pairs that could be in another order, for those who ask whether they can (prediction.h): locks
  // order nothing, and atomic accesses count too.
  enum class What : uint8_t { are, might };
  explicit RaceFinder(What what = What::are) : what_(what) {}
  void look_at(const Execution& run);
  const std::vector<Race>& found() const { return found_; }
  bool has(uint32_t site, uint32_t other) const { return pairs_.contains(std::minmax(site, other)); }

 private:
  using VectorClock = std::vector<uint64_t>;  // by thread
  struct Access {
    uint32_t thread = 0;
    uint64_t time = 0;  // of its thread
    RaceSide side;
  };
  struct Cell {  // of one byte: the last write and the reads since
    std::vector<Access> accesses;
  };

  void synchronise(const heddle_event& event, const Execution& run);
  void access(const heddle_event& event, size_t number, uint64_t address, uint64_t size, bool writes,
              bool atomic, const Execution& run);
  void acquire(uint32_t thread, uint64_t object);
  void release(uint32_t thread, uint64_t object);
  static void join(VectorClock& into, const VectorClock& from);

  What what_;
  std::vector<VectorClock> clocks_;
  std::vector<std::set<uint64_t>> locks_;
  std::map<std::pair<uint32_t, uint32_t>, VectorClock> creations_;  // creator, which of its children
  std::vector<uint32_t> created_;
  std::unordered_map<uint64_t, VectorClock> objects_;
  std::unordered_map<uint64_t, Cell> cells_;
  bool has_fences_ = false;
  std::set<std::pair<uint32_t, uint32_t>> pairs_;  // sites
  std::vector<Race> found_;
};

}  // namespace heddle
