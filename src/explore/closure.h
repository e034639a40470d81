// What can be concluded from one run: all interleavings of its events in which every read returns what it
// returned (the maximal causality of the run), and the places where a thread would get something else. Each
// such place, with the shortest way to it, is a seed interleaving (huang-dissertation 3.1.2, 3.1.4).
//
// The thesis asks a solver, for each read and each other value, whether there is such an interleaving. Here the
// interleavings are enumerated by the operational machine, breadth first, each state once: all constraints
// (must happen before, locks, data validity, store buffers, condition variables, ...) are what the machine can
// do. Steps that nobody else's events can be in conflict with are taken first and alone. Before that, an engine
// may say which reads can return something else at all (leaving.h): often none.
//
// Where this departs from the text, because the text would miss states:
//   - The text keeps one interleaving for each read and value. Another one may leave memory in another state,
//     and something else is possible behind it: here there is a seed for each state in which the value is read.
//   - What a run did not get to, because it failed, exited or stood still, are places too; so are states in
//   which
//     nobody can go on.
//
// Values (chapter 4): MCR demands the same value of every read. MCR-S lets a thread read something else where
// nothing it does later depends on it. That is taken from what was seen of the thread in other runs, exactly:
// the thread goes on to do and to write the same. MCR-S+ does not let the thread of the place itself do so.
#pragma once

#include <functional>

#include "explore/dependence.h"
#include "explore/leaving.h"

namespace heddle {

enum class FixedValues : uint8_t { all, needed, needed_or_before };  // mcr, mcr-s, mcr-s+

struct Seed {
  std::vector<Action> path;  // behind the start
  Hash128 key;               // of the state before its last step, and of that step: the same seed elsewhere
  bool stands = false;       // nobody can go on behind it: `key` is of that state
};

class Closure {
 public:
  using ActionsAt = std::function<std::vector<Action>(const MachineState&)>;
  Closure(const Behaviour& behaviour, const OperationalMachine& machine, FixedValues values, SeedEngine engine,
          ActionsAt actions)
      : behaviour_(behaviour),
        machine_(machine),
        values_(values),
        engine_(engine),
        actions_(std::move(actions)) {}

  // `trace`: what the run did from there. At most so many states; fewer seeds are found then (complete()).
  std::vector<Seed> seeds(const MachineState& start, std::span<const Action> trace, uint64_t most_states);
  bool complete() const { return complete_; }
  uint64_t states() const { return states_; }
  // Of the last run: what the engine was asked; whether there was no need to enumerate.
  const LeavingCounts& asked() const { return asked_; }
  bool was_decided() const { return was_decided_; }

 private:
  struct Event {
    Operation operation;
    NodeId from = kUnknownNode, to = kUnknownNode;
    uint64_t input = 0, output = 0;
  };
  struct Place {
    MachineState state;
    std::vector<uint32_t> done;  // events of each thread
    uint64_t strayed = 0;        // threads that have read something else
    size_t entry = 0;            // in way_
  };
  enum class Meaning : uint8_t { follows, strays, leaves };

  void read_trace(const MachineState& start, std::span<const Action> trace);
  std::optional<RunEvents> run_events(
      const MachineState& start) const;  // nothing: the engines do not understand it
  void ask_engine(const MachineState& start);
  bool may_leave(const Place& place) const;
  Meaning meaning_of(const Place& place, const Action& action) const;
  bool is_local(const Place& place, const Action& action) const;
  std::vector<Action> way_to(size_t entry) const;

  const Behaviour& behaviour_;
  const OperationalMachine& machine_;
  FixedValues values_;
  SeedEngine engine_;
  ActionsAt actions_;
  MachineState end_;                         // of the run
  std::optional<std::vector<size_t>> open_;  // by thread: behind so many of its events nothing leaves any more
  LeavingCounts asked_;
  bool was_decided_ = false;
  std::vector<std::vector<Event>> events_;                // by thread
  std::vector<std::vector<std::vector<Use>>> remaining_;  // by thread: what is used by its events from there on
  std::vector<std::pair<size_t, Action>> way_;            // entry before, and how one came from there
  bool complete_ = true;
  uint64_t states_ = 0;
};

}  // namespace heddle
