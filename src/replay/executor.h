// Controlled executions as values: what to do, what came out, and the interface of whoever performs them. Those
// who search for schedules (hunt, shorten, explore) know nothing but this interface.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "abi/control.h"
#include "base/result.h"
#include "replay/failure.h"
#include "replay/strategy.h"
#include "schedule/schedule.h"

namespace heddle {

struct Guide;

// What a run may do and what counts as its failure: the same for all runs of one command.
struct RunRules {
  MemoryModel memory_model = MemoryModel::sc;
  bool spurious_wakeups = false;
  uint64_t max_events = 0;                  // of one run; 0: no limit
  uint64_t livelock_bound = 20000;          // events without any change
  std::array<uint64_t, 4> failing_codes{};  // bit set of exit codes that are failures

  void fail_at(uint8_t exit_code) { failing_codes[exit_code / 64] |= uint64_t{1} << (exit_code % 64); }
};

// What becomes of steps that cannot be followed.
enum class Lenience : uint8_t {
  never,      // the run diverges
  leave_out,  // of a step too what is left of it
  put_off,    // until the others have had their turn, again and again while any goes on; for runs of threads
};

// Who goes on when a thread cannot, and nobody is preempted.
enum class Successor : uint8_t {
  elder,      // the next in order of creation
  younger,    // the next in the opposite order
  preempted,  // who was preempted last, if anybody was, also before the process ends; otherwise as the first
};

// A thread goes on only when nobody else can, until another one has performed an event at an address (one that
// writes, where another would not do). Threads by their numbers in order of creation.
struct Delay {
  uint32_t thread = 0, awaited = 0;
  uint64_t address = 0;
  uint64_t behind = 0;  // so many events of all
  bool writes = false;
};

struct ExecutionPlan {
  Strategy strategy;
  uint64_t seed = 1;
  uint64_t runs = 1;                    // with seed, seed + 1, ... until one does not pass
  const Schedule* schedule = nullptr;   // to follow; when it is a prefix, the strategy goes on behind it
  const Guide* guide = nullptr;         // the same by names; at its end the strategy goes on. Not both
  Lenience lenience = Lenience::never;  // others require a prefix
  // Flushes with a location: stores that have to come before go before; none where nothing is buffered for it.
  bool full_flushes = false;
  RunRules rules;
  bool fresh = false;          // in a process that has not run before
  bool keep_schedule = false;  // of a passing run too
  bool keep_events = false;
  std::array<uint64_t, HEDDLE_CONTROL_MARKED> marked{};  // events, from 1, whose stacks are wanted; 0: none
  bool keep_moves = false;                               // of a program that is a "follow" variant
  // Sites: who may have to wait there goes on only when nobody else can. Nonpreemptive; the first ones only, if
  // there are many.
  std::vector<uint32_t> held;
  Successor successor = Successor::elder;  // nonpreemptive
  std::optional<Delay> delay;              // nonpreemptive
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

enum class Outcome {
  passed,
  failed,
  diverged,      // cannot follow the schedule
  limit,         // max_events
  uncontrolled,  // waits in a call that is not under control
  unsupported,
  died,  // the process ended without an answer
  interrupted,
  out_of_time,
};

// The last run of a plan, and sums over all.
struct Execution {
  Outcome outcome = Outcome::passed;
  std::optional<Failure> failure;  // failed
  std::string text;                // diverged, uncontrolled, unsupported, died: what happened
  std::optional<CodePlace> place;  // and where
  ThreadName thread;               // whose
  std::vector<StackFrame> stack;   // limit: of that thread, innermost first
  uint64_t step = 0;               // diverged: of the given schedule, from 1
  Schedule schedule;               // performed, with its header; unless the run passed and nobody wanted it
  bool schedule_complete = true;   // false: the run had more steps than could be kept
  uint64_t load_base = 0;          // of the executable
  uint64_t seed = 0;
  uint64_t events = 0;
  uint64_t values = 0;  // hash over the values at all events
  uint64_t threads = 0;
  uint64_t preemptions = 0;
  int exit_code = 0;
  uint64_t runs = 0;                       // performed for the plan
  uint64_t total_events = 0;               // of all runs
  std::array<uint64_t, 256> exit_codes{};  // of all runs that passed: how many ended with which code
  std::vector<uint64_t> step_values;       // hash of each step's values
  std::vector<uint64_t> step_addresses;    // flushes: of what became visible
  std::vector<heddle_event> kept_events;
  std::vector<heddle_event> event_data;      // words moved by large events; `after`: by which of kept_events
  std::vector<heddle_event> pending_events;  // what each thread that was left would have done next
  std::array<std::vector<StackFrame>, HEDDLE_CONTROL_MARKED> marked_stacks;  // of ExecutionPlan::marked
  std::vector<heddle_move> moves;
  bool moves_complete = true;                // false: the run made more than could be kept
  std::vector<heddle_thread_entry> created;  // the threads; with the schedule

  bool failed_as(const std::string& identity) const {
    return outcome == Outcome::failed && failure->identity == identity;
  }
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Errors are about the environment (cannot start the program); whatever the program does is an Execution.
  virtual Result<Execution> execute(const ExecutionPlan& plan) = 0;
};

}  // namespace heddle
