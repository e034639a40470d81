// The run that a core is compared with: without preemptions, followed block by block, looked at where it
// corresponds to the failure.
#pragma once

#include "coredump/alignment.h"
#include "coredump/dump_compare.h"
#include "driver/core_case.h"
#include "replay/program_executor.h"

namespace heddle {

// A shared variable that differs between the two runs (CSV of the paper).
struct CriticalVariable {
  MemoryDifference difference;
  uint64_t accesses = 0;  // in the passing run
  bool sync = false;      // of a hang: an object that threads of the core wait for
};

struct PassingRun {
  Execution execution;  // with schedule and events
  std::optional<Alignment> alignment;
  uint64_t aligned_events = 0;  // performed before the aligned point; all of them when there is none
  DumpComparison comparison;
  std::vector<CriticalVariable> critical;
};

// `follow`: the "follow" variant of the core's program.
Result<PassingRun> passing_run(const CoreCase& core, const ControlledProgram& follow, LaunchOptions launch,
                               const RunRules& rules);

}  // namespace heddle
