// heddle reproduce: from a recorded failure to a schedule that shows it again, checked by running it.
//
// The trace of the recording becomes a problem; an engine finds an order of its events; a controlled run
// follows the order. Only a run that fails as the recorded one did is a result. What the clocks of the
// recording say is used at first: it leaves little to search. It is an assumption: stamps that contradict each
// other are dropped (solve/doubted_clocks.h), and without a result all are. A run that does something else
// refutes its order and all that read the same (solve/reads_from.h): the next one is tried. What is impossible
// under one memory model is tried under the next. If no run fails, what else may have led to the failure is
// tried (other_explanations.h). A trace that does not know enough (a thread that died far behind the last thing
// it logged, library code that is not followed) leaves orders that do not matter: at last controlled runs in
// many orders look for the failure, as heddle hunt does, and the result says so.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/confirm.h"
#include "driver/failure_match.h"
#include "solve/engine.h"
#include "trace/trace.h"

namespace heddle {

struct ReproduceOptions {
  RunRules rules;                                                           // but for the memory model:
  std::vector<MemoryModel> models = {MemoryModel::sc};                      // tried in this order
  bool clocks = true;                                                       // of the recording may be used
  std::optional<std::chrono::milliseconds> time = std::chrono::minutes(5);  // for solving
  std::chrono::milliseconds improve = SolveLimits{}.improve;                // of it, for fewer preemptions
  unsigned jobs = 1;
  unsigned orders = 10;  // that are tried, with clocks and without
  unsigned confirmations = 3;
  bool shorten = true;
  std::chrono::milliseconds shorten_time = std::chrono::seconds(20);
  std::chrono::milliseconds search{};  // for controlled runs, if no order leads to the failure; 0: none
};

// One problem that was given to the engine, and what became of its answer.
struct ReproduceAttempt {
  MemoryModel model = MemoryModel::sc;
  ClockUse clocks;
  std::string explanation;  // of other_explanations.h that was tried; empty: what the trace says
  SolveAnswer answer;
  std::chrono::milliseconds solving{};
  std::string replay;    // of a found order: why the run is no result; empty: it is
  bool endless = false;  // the run had not ended when its part of the time was over
};

struct ReproduceResult {
  enum class End {
    reproduced,
    impossible,      // no order explains the recording under any of the memory models
    undecided,       // time, Ctrl-C
    not_reproduced,  // orders were found, but no run that follows them fails so
  };
  End end = End::undecided;
  std::vector<ReproduceAttempt> attempts;  // the last one decided
  uint64_t searched = 0;                   // runs that looked for the failure in orders that nothing says
  bool found_by_search = false;            // reproduced: by the last of these
  FailureMatch matched = FailureMatch::none;
  Confirmation confirmation;      // reproduced
  std::optional<Execution> told;  // the best schedule once more, with its events
};

struct ReproduceEvents {
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  // Called again with each better schedule: to be written at once.
  std::function<void(const Execution&)> found = [](const Execution&) {};
};

// Of a run that followed an order but did not show the failure, in words.
std::string what_happened(const Execution& run);

// Requires: trace.failure.kind is not none.
Result<ReproduceResult> reproduce(const Trace& trace, const RecordedFailure& failure, Engine& engine,
                                  Executor& executor, const ReproduceOptions& options,
                                  const ReproduceEvents& events);

}  // namespace heddle
