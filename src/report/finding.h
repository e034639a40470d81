// A reproduced failure as data: all that a report says, in whatever form. It needs neither the program nor its
// sources any more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "replay/executor.h"
#include "report/why.h"
#include "schedule/measures.h"

namespace heddle {

// One thing that happened, in the order of the run. Events that a thread was about to perform when the run
// ended come last.
struct FindingEvent {
  uint32_t thread = 0;
  size_t step = 0;     // of the schedule
  std::string kind;    // read, write, update, fence, call, free, visible, wake, timeout, or a synchronisation
                       // (mutex_lock, ...)
  std::string object;  // variable or address; empty: none
  std::string value, after;  // of accesses; update: before and after
  std::string text;          // "reads balance: 100"
  std::optional<CodePlace> place;
  std::vector<StackFrame> stack;   // of decisive events, innermost first; empty: not known
  std::optional<size_t> variable;  // in FailureFinding::variables
  std::optional<size_t> store;     // visible: the store
  bool pending = false;
};

struct FindingPair {
  size_t first = 0, second = 0;  // in FailureFinding::events
  bool visibility = false;       // the second is a store that becomes visible late
  std::string text;              // one sentence
  uint64_t flipped_passed = 0, flipped_runs = 0, kept_failed = 0, kept_runs = 0;
};

struct FindingSpan {  // of a lock, or of a store in its buffer
  uint32_t thread = 0;
  std::string object;
  size_t begin = 0, end = 0;  // in FailureFinding::events; the end may be their number
  bool shared = false;
};

struct FindingSource {
  std::string file;         // as in places
  std::string path;         // where it was
  std::string missing;      // why there is no text
  uint32_t first_line = 1;  // of `lines`
  std::vector<std::string> lines;
};

// Memory that several threads access, and one of them writes.
struct FindingVariable {
  std::string name;
  std::string initial;  // before the first change; empty: not known
};

struct FailureFinding {
  std::string origin;  // "hunt", "check", "reproduce", "core", "a schedule"
  std::string schedule_file;
  ScheduleHeader header;
  std::vector<ScheduleThread> threads;
  std::vector<Step> steps;
  ScheduleMeasures measures;
  Failure failure;
  uint64_t replays = 0, reproduced = 0;  // in fresh processes

  Pattern pattern = Pattern::unknown;
  bool unprotected = false;
  std::string headline;                  // "Atomicity violation on balance"
  std::vector<std::string> explanation;  // sentences
  std::string advice;                    // what would help; may be empty
  std::vector<FindingPair> decisive;
  std::optional<std::pair<size_t, size_t>> unit;  // two events of one thread that should have been one
  std::vector<std::string> cycle;                 // deadlock: who waits for what
  uint64_t pairs = 0, flips = 0, impossible = 0, runs = 0;
  bool finished = true;

  std::vector<FindingEvent> events;
  size_t left_out = 0;  // events at the beginning of a long run
  size_t gap = 0;       // events left out in the middle of one, before events[gap_at]
  size_t gap_at = 0;
  std::vector<FindingVariable> variables;
  std::vector<FindingSpan> locks, buffered;
  std::vector<FindingSource> sources;
  std::vector<std::string> assumptions;  // and approximations
};

// What the finding is made from beside the run.
struct FindingContext {
  const CodeNames& names;
  Executor& executor;
  RunRules rules;
  std::string origin, schedule_file;
  uint64_t replays = 0, reproduced = 0;
  std::vector<std::string> assumptions;
};

// Requires: `run` failed with its events kept, and `why` is about it. Runs the program for the stacks of
// decisive events.
Result<FailureFinding> make_finding(const Execution& run, const Why& why, const FindingContext& context);

Json to_json(const FailureFinding& finding);  // docs/report.md

}  // namespace heddle
