#include "cli/trace_input.h"

#include <fmt/core.h>

#include "base/files.h"
#include "driver/recorded_trace.h"
#include "recording/flow_log.h"

namespace heddle {

Result<Trace> trace_of_recorded(const std::string& recording, const std::string& program, unsigned jobs) {
  if (!fs::is_directory(recording))
    return Error{.what = "a packed recording has to be unpacked first",
                 .where = recording,
                 .next = fmt::format("heddle unpack {}", recording)};
  if (is_flow_recording(recording))
    return Error{.what = "a flow recording has no paths to compute a trace from",
                 .where = recording,
                 .why = "its order of events was recorded: nothing is left to solve",
                 .next = fmt::format("heddle reproduce {}  (for a trace: heddle record without --mode flow)",
                                     recording)};
  SymbolicStatistics statistics;
  Trace trace = HEDDLE_TRY(trace_of_recording(recording, program, {.jobs = jobs}, statistics));
  if (statistics.mismatches != 0)
    fmt::print(
        stderr,
        "heddle: at {} places what was computed along the paths is not what was recorded; the first: {}\n"
        "  what follows from there may be wrong\n",
        statistics.mismatches, statistics.first_mismatch);
  return trace;
}

}  // namespace heddle
