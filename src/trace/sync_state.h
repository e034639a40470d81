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
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash128.h"
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

  // All that an event can change, to put it back: a search goes back and forth. Events are taken back in the
  // opposite order.
  struct Part;
  Part part(uint32_t thread, const Event& event) const;
  void restore(const Part& part);
  // Of the same: what can be told from it by later events. Equal states have equal fingerprints, however they
  // came about, if the threads stand at the same events.
  Hash128 hash(uint32_t thread, const Event& event) const;

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
  struct Object {  // whatever is at an address
    Mutex mutex;
    ReadWriteLock lock;
    ConditionState condition;  // never forgotten: woken threads may come late
    Barrier barrier;
    uint64_t semaphore = 0;
    Once once;
  };
  struct Thread {
    bool created = false, exited = false;
    bool waits = false;  // for a condition
    uint64_t condition = 0, wait_began = 0;
    uint64_t round = 0;  // of the barrier at which it arrived
    bool last = false;   // it was the last to arrive
  };

  const Object& object(uint64_t address) const;
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

  Hash128 hash_of_object(uint64_t address) const;
  Hash128 hash_of_blocks(const Event& event) const;

  std::vector<Thread> threads_;
  std::unordered_map<uint64_t, Object> objects_;
  std::map<uint64_t, uint64_t> blocks_, released_;  // address to size
  uint64_t time_ = 0;                               // of waits, signals and broadcasts
};

struct SyncState::Part {
  uint64_t time = 0;
  std::vector<std::pair<uint32_t, Thread>> threads;
  std::vector<std::pair<uint64_t, Object>> objects;
  bool has_blocks = false;
  uint64_t address = 0, size = 0;  // of the block
  std::optional<uint64_t> block;   // of blocks_ at the address
  std::vector<std::pair<uint64_t, uint64_t>> released;
};

}  // namespace heddle
