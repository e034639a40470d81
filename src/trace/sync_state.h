// State of synchronisation objects, threads and blocks of memory while a trace is carried out: what can be
// done, and doing it.
//
// As src/runtime/control does it:
//   - a normal mutex is released by whoever unlocks it; a recursive one by its holder only;
//   - try-locks and timed locks fail only while somebody is in the way, try-waits of semaphores only at 0;
//   - condition variables, barriers: condition_state.h; who arrives last is known (Event::second);
//   - futexes, signals of unknown kinds and the like never wait.
// Also: an allocation waits until the memory is free, since two threads cannot have it at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "trace/condition_state.h"
#include "trace/trace.h"

namespace heddle {

class SyncState {
 public:
  explicit SyncState(const Trace& trace);  // threads that nobody creates are there from the start

  bool is_there(uint32_t thread) const { return threads_[thread].created; }
  bool is_enabled(uint32_t thread, const Event& event) const;
  void perform(uint32_t thread, const Event& event);  // requires: is_enabled()
  uint64_t semaphore(uint64_t address) const;
  bool is_released(uint64_t address) const;  // it lies in a block that was released and is not in use again

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Mutex {
    uint32_t holder = kNobody;
    uint64_t levels = 0;
  };
  struct ReadWriteLock {
    uint64_t readers = 0;
    uint32_t writer = kNobody;
  };
  struct Barrier {
    uint64_t count = 0;    // 0: not known, nobody waits
    uint64_t arrived = 0;  // in this round
    uint64_t inside = 0;   // have arrived, not left; without the last of each round
    uint64_t round = 0;
  };
  struct Once {
    uint32_t runner = kNobody;
    bool done = false;
  };
  struct Thread {
    bool created = false, exited = false;
    bool waits = false;  // for a condition
    uint64_t wait_began = 0;
    uint64_t round = 0;  // of the barrier at which it arrived
    bool last = false;   // it was the last to arrive
  };

  bool can_lock(uint32_t thread, uint64_t mutex, bool recursive) const;
  void lock(uint32_t thread, uint64_t mutex);
  void unlock(uint64_t mutex, bool recursive);
  bool can_end_wait(uint32_t thread, const Event& event) const;
  bool can_arrive(const Event& event) const;
  bool is_free(uint64_t address, uint64_t size) const;
  void perform_wait(uint32_t thread, const Event& event);
  void perform_barrier(uint32_t thread, const Event& event);
  void perform_block(const Event& event);
  void forget(uint64_t address);  // what was there: the object is initialised or destroyed

  std::vector<Thread> threads_;
  std::unordered_map<uint64_t, Mutex> mutexes_;
  std::unordered_map<uint64_t, ReadWriteLock> locks_;
  std::unordered_map<uint64_t, ConditionState> conditions_;  // never forgotten: woken threads may come late
  std::unordered_map<uint64_t, Barrier> barriers_;
  std::unordered_map<uint64_t, uint64_t> semaphores_;
  std::unordered_map<uint64_t, Once> onces_;
  std::map<uint64_t, uint64_t> blocks_, released_;  // address to size
  uint64_t time_ = 0;                               // of waits, signals and broadcasts
};

}  // namespace heddle
