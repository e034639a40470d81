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
  bool spun = false;      // of a hang: threads of the core read it again and again
};

// How far a thread of the passing run had come in the core. The paper looks at the failing thread alone; but
// the core has all of them, and who stands in the middle of something was stopped there.
struct CorePosition {
  enum class Kind : uint8_t { unknown, not_begun, midway, ended };
  Kind kind = Kind::unknown;
  uint64_t events = 0;                     // of its own that it had performed
  bool guessed = false;                    // some of its kind had ended, and which ones is not known
  std::optional<InstructionId> predicate;  // midway: where it goes another way in the passing run, if it does
};

struct PassingRun {
  Execution execution;  // with schedule and events
  std::optional<Alignment> alignment;
  uint64_t aligned_events = 0;  // performed before the aligned point; all of them when there is none
  DumpComparison comparison;
  std::vector<CriticalVariable> critical;
  std::vector<CorePosition> positions;  // by thread
  std::vector<std::string> notes;       // what was left out, in words
};

// `follow`: the "follow" variant of the core's program. `instructions`: the aligned point is behind so many
// instructions of the failing thread, instead of where the index says. Indexes of the core get frames that are
// known only from the run (coredump/tail_calls.h).
Result<PassingRun> passing_run(CoreCase& core, const ControlledProgram& follow, LaunchOptions launch,
                               const RunRules& rules, std::optional<uint64_t> instructions);

// Of a hang: what its threads wait for, in a run that performed these events; known by the places where they
// do.
std::vector<CriticalVariable> awaited_objects(const CoreCase& core, const std::vector<heddle_event>& events);

// How many instructions of the program the failing thread performed until it failed; nothing: it cannot be
// followed.
Result<std::optional<uint64_t>> instructions_of_failure(const ControlledProgram& follow, LaunchOptions launch,
                                                        const RunRules& rules, const Schedule& schedule);

}  // namespace heddle
