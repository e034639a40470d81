// Schedules as the control runtime reads and writes them: steps with thread numbers and places instead of
// names.
#pragma once

#include <vector>

#include "replay/failure.h"
#include "replay/memory_names.h"
#include "schedule/schedule.h"

namespace heddle {

// A schedule for the runtime. Threads are numbered in the order of Schedule::threads.
struct GivenSteps {
  std::vector<heddle_step> steps;
  std::vector<heddle_thread_entry> threads;
};

// Requires: check_schedule(). The error names the step.
Result<GivenSteps> given_steps(const Schedule& schedule, const MemoryNames& memory);

// Threads and steps of the run that a checked answer tells of; the header is left to the caller.
Schedule performed_schedule(const Answer& answer, const std::vector<ThreadName>& threads, MemoryModel model,
                            const MemoryNames& memory, const CodeNames& names);

}  // namespace heddle
