// heddle replay: runs a schedule again and compares each run with what the schedule expects and with the first
// run.
#pragma once

#include <functional>
#include <optional>

#include "replay/divergence.h"
#include "replay/executor.h"

namespace heddle {

struct ReplayOptions {
  uint64_t times = 1;
  RunRules rules;  // memory model and failing exit codes are taken from the schedule
};

struct ReplayResult {
  uint64_t runs = 0;
  uint64_t reproduced = 0;  // runs that did what the schedule expects, and the same as the first
  std::optional<Execution> first;
  std::optional<Divergence> divergence;  // the first one
  uint64_t diverged_run = 0;             // from 1
  bool interrupted = false;
};

// Rules for runs of this schedule: its memory model, and an exit code that it expects as a failure counts as one.
RunRules rules_for(const Schedule& schedule, RunRules rules);

// `first` performs the first run (whose output people may want to see), `others` the rest. Runs on after a
// divergence: how often it happens tells something too.
Result<ReplayResult> replay(const Schedule& schedule, Executor& first, Executor& others, const CodeNames& names,
                            const ReplayOptions& options,
                            const std::function<void(const ReplayResult&)>& progress);

}  // namespace heddle
