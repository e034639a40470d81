// The operational machine for threads whose behaviour is known: memory, store buffers and synchronisation
// objects, as src/runtime/control has them. States are plain values: copied, compared by fingerprint.
//
// Covered: accesses and library functions whose memory is known, the end of heap blocks; mutexes (normal,
// recursive, error-checking, robust), spin locks, read-write locks, condition variables, barriers,
// semaphores, futexes and what is built on them, sleeping, creation, joining and cancellation of threads,
// once-only initialisation, keys, and what <heddle.h> offers to test harnesses. What is not is named, never
// guessed. Every run that a behaviour is learned from is carried out here too (explorer.h): where the two
// differ, the machine is not used. Its files:
//
//   machine.cpp           operations: what they need, what they do; fingerprints of states
//   machine_memory.cpp    memory and store buffers
//   machine_sync.cpp      synchronisation objects
//   machine_channels.cpp  pipes
//   machine_learning.cpp  runs of the program carried out here, and what they tell
//
// Time: a wait with a time limit may run out of time whenever it could not go on otherwise; a sleep always
// does. How long the times are is not looked at.
//
// What a library function keeps in an object of its own (a stream) is followed as the history of the calls; not
// that of output (`output_sites`), which no thread can tell.
//
// What uses memory that was freed is never known beforehand: it is to be executed, and fails.
//
// Memory that nobody has written is as the first run found it: known where a run has read it, or was about to
// write it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "abi/event_part.h"
#include "base/hash128.h"
#include "explore/behaviour.h"
#include "schedule/schedule.h"

namespace heddle {

// The value of a word and which of its bytes are known.
struct Word {
  uint64_t address = 0;  // a multiple of 8
  uint64_t value = 0, known = 0;
  friend bool operator==(const Word&, const Word&) = default;
};

// A list of things with an address, sorted.
template <class T>
class ByAddress {
 public:
  const T* find(uint64_t address) const {
    const auto at = place(address);
    return at != items_.end() && at->address == address ? &*at : nullptr;
  }
  T& get(uint64_t address) {
    const auto at = items_.begin() + (place(address) - items_.cbegin());
    return at != items_.end() && at->address == address ? *at : *items_.insert(at, T{.address = address});
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  typename std::vector<T>::const_iterator place(uint64_t address) const {
    return std::lower_bound(items_.begin(), items_.end(), address,
                            [](const T& item, uint64_t value) { return item.address < value; });
  }
  std::vector<T> items_;
};

struct SyncObject {
  uint64_t address = 0;
  uint32_t kind = 0;                // of a mutex: 0 normal, 1 recursive, 2 error-checking; + 16 robust
  uint32_t holder = 0;              // thread + 1; of a lock for writing, of once: who is at it
  uint32_t count = 0;               // levels of a recursive mutex; readers; of a semaphore or barrier its count
  uint32_t arrived = 0, round = 0;  // of a barrier; `arrived` of a lock that prefers writers: those who wait
  bool done = false;                // once; of a robust mutex: nobody can have it any more
  uint64_t history = 0;             // of an object that only a library understands: what was done to it
  // Of a condition: threads that wait (thread + 1) and signals that woke nobody yet (0), in the order in which
  // they came (condition_state.h).
  std::vector<uint32_t> queue;
};

// A store of more than a word is several of these, with one number.
struct Store {
  uint64_t address = 0, size = 0, value = 0;
  uint32_t number = 0, barrier = 0;  // stores with smaller numbers than `barrier` become visible before it
};

struct ThreadState {
  NodeId node = kUnknownNode;
  bool there = false, over = false;
  bool waits = false, woken = false;  // for a condition, for a futex
  bool timed_out = false;             // what it is about to do
  bool cancelled = false;             // it was asked to end, and does so when it can
  uint32_t round = 0;                 // of the barrier at which it has arrived; + 1
  uint32_t alone = 0;                 // how many parts without switches it is in
  uint32_t next_number = 1, barrier = 0;
  uint64_t result = 0;        // over: what it returned
  std::vector<Store> buffer;  // the oldest first
};

struct MachineState {
  std::vector<ThreadState> threads;
  ByAddress<Word> memory;
  ByAddress<SyncObject> objects;
  std::vector<std::pair<uint64_t, uint64_t>> freed;  // blocks: address and size, in the order of addresses
  bool exited = false;                               // the process ended, well or not
  uint32_t alone = 0;                                // thread + 1 that is in a part without switches
  bool is_unclear = false;  // a waiter was cancelled, and who gets a signal is open: not followed any further
};

struct Action {
  uint32_t thread = 0;
  std::optional<uint64_t> flush;  // TSO, PSO: the oldest store to this address becomes visible
  bool timeout = false;           // its wait runs out of time; it goes on with its next action
  friend bool operator==(const Action&, const Action&) = default;
};

class MergedHistories;

class OperationalMachine {
 public:
  // `output_sites`: calls that put something out, and whose effect on the stream nobody can tell.
  // `undefined_sites`: reads that may be of memory that was never written, and make no use of it then.
  OperationalMachine(Behaviour& behaviour, MemoryModel model, std::unordered_set<uint32_t> output_sites = {},
                     std::unordered_set<uint32_t> undefined_sites = {})
      : behaviour_(behaviour),
        model_(model),
        output_sites_(std::move(output_sites)),
        undefined_sites_(std::move(undefined_sites)) {}

  MachineState begin() const;

  bool is_enabled(const MachineState& state, uint32_t thread) const;
  // It goes round a loop, and would once more; whether for ever is for Behaviour::waiting to say.
  bool goes_round(const MachineState& state, uint32_t thread) const;
  // It waits in a loop, as far as is known: it would go round, and nothing else.
  bool waits_in_loop(const MachineState& state, uint32_t thread) const;
  bool may_time_out(const MachineState& state, uint32_t thread) const;
  bool begins_alone(const MachineState& state, uint32_t thread) const;  // nobody else goes on after that
  bool holds_back(const Store& older, const Store& younger) const;      // of one thread
  std::vector<Action> flushes(const MachineState& state, uint32_t thread) const;
  enum class Step : uint8_t { done, unknown };  // unknown: no run has shown what comes of it
  // requires: is_enabled(), one of flushes(), or may_time_out(). Not done: nothing has changed.
  Step perform(MachineState& state, const Action& action) const;
  void flush(MachineState& state, uint32_t thread, uint64_t address) const;
  void time_out(MachineState& state, uint32_t thread) const;
  void drain(MachineState& state, uint32_t thread) const;  // all its stores become visible
  // As far as is known the process ends with it: nobody does anything after that.
  bool ends_all(const MachineState& state, uint32_t thread) const;
  // What the thread would get if it went on; what would come of it (null: no run has shown it).
  std::optional<uint64_t> next_input(const MachineState& state, uint32_t thread) const {
    return input(state, thread, behaviour_.node(state.threads[thread].node).operation);
  }
  const Behaviour::Edge* next_edge(const MachineState& state, uint32_t thread) const;
  MemoryModel model() const { return model_; }
  std::optional<uint64_t> in_memory(const MachineState& state, uint64_t address, uint64_t size) const {
    return load(state, {}, address, size);  // whatever is in buffers
  }
  bool buffers(const Operation& operation) const;     // it enters the buffer: nobody else can tell
  bool is_opaque(const Operation& operation) const;   // a library knows what it does to its object
  bool is_private(const Operation& operation) const;  // what comes in is known from the thread's history
  bool buffer_is_full(const MachineState& state, uint32_t thread) const;

  // The same for a run: a thread performed this event. Learns what it tells; a text says what does not fit.
  // `data`: what it moved, if it is large. `numbers`: of the run's threads here.
  std::string follow(MachineState& state, const heddle_event& event, std::span<const heddle_event> data,
                     const std::vector<uint32_t>& numbers);
  // What the thread would have done next.
  std::string pending(const MachineState& state, const heddle_event& event,
                      const std::vector<uint32_t>& numbers);

  // All that the future depends on; with `merged`, where threads at merged nodes are one.
  Hash128 hash(const MachineState& state, const MergedHistories* merged = nullptr) const;
  // The same for all that ever could matter, whatever is known of the threads, and in every process.
  Hash128 full_hash(const MachineState& state) const;
  Hash128 inputs_hash(const MachineState& state) const;  // what all reads returned
  std::string inputs_text(const MachineState& state) const;

 private:
  std::string not_covered(const heddle_event& event) const;
  bool ends_by_cancellation(const MachineState& state, uint32_t thread) const;  // its wait
  void cancel(MachineState& state, uint32_t thread) const;
  bool can_go_on(const MachineState& state, uint32_t thread) const;  // if it were the only one
  bool is_kept_back(const MachineState& state, uint32_t thread) const;
  // In the next round of a loop.
  bool comes_in_again(const MachineState& state, uint32_t thread, const Operation& operation,
                      uint64_t awaited) const;
  void add_buffer(Hasher128& hasher, const ThreadState& thread) const;
  bool is_newly_cancelled(const ThreadState& thread) const;
  bool uses_freed(const MachineState& state, const Operation& operation) const;
  void learn_initial(const MachineState& state, const Piece& piece, uint64_t but);
  bool agrees(const MachineState& state, uint32_t thread, const Piece& piece);
  std::string learn_sync(const MachineState& state, uint32_t thread, const Operation& operation,
                         const heddle_event& event, uint64_t& in);
  std::string learn_operation(NodeId at, const heddle_event& event, const std::vector<uint32_t>& numbers);
  // What comes in; nothing where nobody knows what is in memory.
  std::optional<uint64_t> input(const MachineState& state, uint32_t thread, const Operation& operation) const;
  // All but the way through the tree.
  void apply(MachineState& state, uint32_t thread, const Operation& operation,
             const Behaviour::Edge& edge) const;
  void apply_sync(MachineState& state, uint32_t thread, const Operation& operation, uint64_t in,
                  uint64_t output) const;
  // Why it is not followed; empty: it is.
  std::string channel_problem(const MachineState& state, uint32_t thread, const Operation& operation) const;
  bool is_channel_ready(const MachineState& state, uint32_t thread, const Operation& operation) const;
  // What a read of it would bring.
  std::vector<uint8_t> channel_bytes(const MachineState& state, const Operation& operation) const;
  void apply_channel(MachineState& state, const Operation& operation, const Behaviour::Edge& edge) const;
  static bool waits_with_robust(const MachineState& state, const Operation& operation);
  static uint64_t joined_input(const Operation& operation, uint64_t result);
  std::optional<uint64_t> sync_input(const MachineState& state, uint32_t thread,
                                     const Operation& operation) const;
  void buffer(MachineState& state, uint32_t thread, const Operation& operation,
              std::span<const Piece> pieces) const;
  std::optional<uint64_t> load(const MachineState& state, uint32_t thread, uint64_t address,
                               uint64_t size) const {
    return load(state, state.threads[thread].buffer, address, size);
  }
  std::optional<uint64_t> load(const MachineState& state, std::span<const Store> buffer, uint64_t address,
                               uint64_t size) const;
  void store(MachineState& state, uint64_t address, uint64_t size, uint64_t value) const;

  Behaviour& behaviour_;
  MemoryModel model_;
  std::unordered_set<uint32_t> output_sites_, undefined_sites_;
  ByAddress<Word> initial_;                   // before anybody wrote
  std::unordered_set<uint64_t> done_before_;  // once-only initialisations of before the first event
  std::optional<uint64_t> first_key_;         // that the program makes
};

std::vector<uint8_t> bytes_of(std::span<const Piece> pieces);

constexpr uint64_t mask_of(uint64_t size) {
  return size >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * size) - 1;
}

inline constexpr size_t kMostBuffered = 64;  // stores of a thread; as the runtime

// Results that mean "no": of semaphores and futexes.
inline constexpr uint64_t kRefused = UINT64_MAX;

// How an object is before anybody has used it.
inline const SyncObject kUntouched;
inline const SyncObject& object_at(const MachineState& state, uint64_t address) {
  const SyncObject* found = state.objects.find(address);
  return found != nullptr ? *found : kUntouched;
}

}  // namespace heddle
