// Looks for a failure among the schedules with few preemptions, all of them, fewest first (iterative context
// bounding: Musuvathi and Qadeer, PLDI 2007). A run without preemptions is performed, then each that differs
// from one already performed in one place: another thread goes on there, by preemption or where a thread waits
// or ends.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "replay/executor.h"

namespace heddle {

struct FewPreemptionsOptions {
  uint64_t bound = 0;  // preemptions at most
  uint64_t runs = 0;   // at most; there may be very many schedules
  std::chrono::steady_clock::time_point deadline;
  RunRules rules;
  std::function<bool()> stop = [] { return false; };
};

struct FewPreemptionsResult {
  std::optional<Execution> found;
  uint64_t runs = 0;
};

// `identity`: of the failure. `header`: of a schedule of this program.
Result<FewPreemptionsResult> look_with_few_preemptions(const std::string& identity,
                                                       const ScheduleHeader& header, Executor& executor,
                                                       const FewPreemptionsOptions& options);

}  // namespace heddle
