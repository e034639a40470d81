// What of a run may be left out: parts of its actions that are, in the order of the run, a run too, in which
// every read returns what it returned and every operation of synchronisation ends as it did. Other orders are
// not looked at, so a part is found in time linear in the run however long that is (the closure of Mathur,
// Pavlogiannis and Viswanathan, "Optimal prediction of synchronization-preserving races", POPL 2021, with
// values, store buffers and all objects of pthreads).
//
// An action needs: what its thread did before; of a read, the write that it read; of an operation on an object,
// the earlier ones on it. Locks need less: whoever takes one needs that those who are in the part and took it
// before have given it back. Where an object is understood only in part, more is needed than would be: parts
// are missed then, and none is made up. (Whoever uses a part executes it anyway.)
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "replay/executor.h"

namespace heddle {

struct RunAction {
  StepKind kind = StepKind::run;
  uint32_t thread = 0;   // index in the schedule
  uint32_t event = 0;    // run: of Execution::kept_events
  uint64_t address = 0;  // flush
};

class RunNeeds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Part = std::vector<bool>;  // by action

  RunNeeds(const Execution& run, MemoryModel model);  // `run` must outlive it

  const std::vector<RunAction>& actions() const { return actions_; }
  uint32_t action_of(uint32_t event) const { return action_of_event_[event]; }
  uint32_t before(uint32_t action) const { return before_[action]; }  // what the thread did; kNone: nothing

  // A store of at most a word and when it became visible.
  struct Write {
    uint32_t store = 0, visible = 0;  // actions; the same under SC
    uint64_t address = 0, size = 0, value = 0;
  };
  const std::vector<Write>& writes_to_word(
      uint64_t address) const;  // in the order in which they became visible
  // What a read of the bytes finds behind the part: nothing where no single write says so. `none`: nobody has
  // written.
  struct Found {
    bool none = false;
    uint64_t value = 0;
  };
  std::optional<Found> found_behind(const Part& part, uint64_t address, uint64_t size) const;

  std::optional<uint64_t> first_value(uint64_t address,
                                      uint64_t size) const;  // before anybody wrote, if that was seen

  // The smallest part with `wanted` (kNone is left out); nothing where that needs one of `never`. With
  // Reads::any reads may return something else, and whoever executes it has to see what comes of that.
  enum class Reads : uint8_t { same, any };
  std::optional<Part> smallest(std::span<const uint32_t> wanted, std::span<const uint32_t> never,
                               Reads reads = Reads::same) const;
  // False: no order of the run's events, whatever it is, has `wanted` without `never`, if every read returns
  // what it returned. (Threads, and reads of a value that only one write has; nothing is said about the rest.)
  bool may_be(std::span<const uint32_t> wanted, std::span<const uint32_t> never) const;
  // Where the outermost lock was taken that the thread of the action holds there; kNone: it holds none.
  uint32_t outermost_lock(uint32_t action) const;
  // Where the locks are given back that the thread of the action holds there.
  std::vector<uint32_t> releases_behind(uint32_t action) const;
  // The largest part of what was done before the action `end` without `never`.
  Part largest(std::span<const uint32_t> never, uint32_t end) const;

  // The part and then these threads' next events, as the beginning of a run.
  Schedule schedule_of(const Part& part, std::span<const uint32_t> then) const;

 private:
  struct Buffered {
    Write write;
    bool release = false;
  };
  struct Section {  // of a lock
    uint32_t acquire = 0, release = kNone;
    bool reads = false;
  };
  struct Word {
    std::vector<Write> writes;
    uint32_t last[8] = {kNone, kNone, kNone, kNone,
                        kNone, kNone, kNone, kNone};  // by byte: when it became visible
  };

  void read_actions();
  void add_event(uint32_t action, size_t& data);
  void add_sync(uint32_t action, const heddle_event& event);
  void need(uint32_t action, uint32_t other, bool always = false);  // in every order
  void need_writers(uint32_t action, uint64_t address, uint64_t size);
  void write(uint32_t action, const heddle_event& event, uint64_t value);
  void show(const Write& write);
  void drain(uint32_t thread, uint32_t action);
  void flush(uint32_t action);
  void acquire(uint32_t action, uint64_t lock, bool reads);
  void release(uint32_t action, uint64_t lock);
  void chain(uint32_t action, uint64_t object);

  const Execution& run_;
  MemoryModel model_;
  std::vector<RunAction> actions_;
  std::vector<uint32_t> action_of_event_, before_;
  std::vector<std::vector<uint32_t>> needs_, always_needs_, sources_;  // sources: of what was read
  std::vector<std::vector<Section>> locks_;  // sections of each lock, in the order of the run
  std::vector<std::pair<uint32_t, uint32_t>>
      section_of_;  // by action that takes a lock: the lock and which; kNone

  // While the run is read:
  std::vector<uint32_t> last_of_thread_, ends_;
  std::vector<std::vector<uint32_t>> creations_;  // by thread
  std::vector<std::vector<Buffered>> buffers_;    // by thread
  std::vector<bool> waits_, fenced_;              // for a condition; behind a release fence
  std::vector<std::vector<uint32_t>> shown_;      // by thread: flushes since its buffer was empty for certain
  std::vector<uint32_t> alone_;                   // by thread: the begin of its part without switches
  std::unordered_map<uint64_t, uint32_t> lock_numbers_, last_on_object_;
  std::unordered_map<uint64_t, uint32_t> depth_;  // of (lock, thread)
  std::unordered_map<uint64_t, Word> words_;
  std::unordered_map<uint64_t, std::pair<uint64_t, uint64_t>> first_values_;  // by address: size and value
};

}  // namespace heddle
