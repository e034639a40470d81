// The state behind the first part of an order, as far as what comes later depends on it: what the windows of a
// long trace are solved from (windows_engine.h). Sequential consistency only.
//
// What synchronisation objects know is carried along as the few events that lead there again: of a mutex that
// is held its lock, of a condition that is waited for the wait and the signals since, of a thread that can
// still be joined its exit. Objects that are as they were at first need none.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "solve/live_values.h"
#include "solve/problem.h"
#include "trace/byte_memory.h"

namespace heddle {

class CarriedState {
 public:
  // All outlive this. `plans`: by thread.
  CarriedState(const Trace& trace, const std::vector<LivePlan>& plans);

  void perform(EventRef next);  // requires: it is the thread's next event, and possible

  uint32_t position(uint32_t thread) const { return positions_[thread]; }
  MemoryByte byte(uint64_t address) const { return memory_.get(address); }
  const LiveValues& values(uint32_t thread) const { return values_[thread]; }

  struct Kept {
    uint32_t thread = 0;
    Event event;
  };
  // The events that bring about what those of the objects know that a window uses, in their order.
  std::vector<Kept> kept_for(const std::vector<const Event*>& window) const;

 private:
  struct Object {
    std::vector<std::pair<uint64_t, Kept>> events;  // since it was as at first, with when
    int64_t held = 0, waiting = 0, inside = 0;
  };

  uint64_t object_of(uint64_t address) const;  // conditions and their mutexes are one
  void access(uint32_t thread, const Event& event);
  void synchronise(uint32_t thread, const Event& event);
  void keep(uint32_t thread, const Event& event, int held, int waiting, int inside);
  void change_block(uint32_t thread, const Event& event);

  const Trace* trace_;
  std::vector<uint32_t> positions_;
  std::vector<LiveValues> values_;
  ByteMemory memory_;
  uint64_t time_ = 0;
  std::unordered_map<uint64_t, uint64_t> joined_to_;  // an object that a wait uses together with it
  std::unordered_map<uint64_t, Object> objects_, onces_;
  std::unordered_map<uint64_t, uint64_t> counts_;                 // of semaphores and barriers
  std::map<uint64_t, std::pair<uint64_t, Kept>> exits_, blocks_;  // by thread; by address, the last event
  LiveValues::Changes forgotten_;
};

}  // namespace heddle
