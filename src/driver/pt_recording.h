// Recordings made by Intel PT (docs/pt.md): the folder holds perf.data in place of logs. Of each thread there
// is the head of a log, with addresses that stand for those of the process (pt/pt_path_source.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"
#include "driver/record.h"
#include "program/record_plan.h"
#include "pt/pt_path_source.h"
#include "recording/recording_info.h"

namespace heddle {

inline constexpr std::string_view kPtVariant = "pt";  // RecordingInfo::variant: the program itself
inline constexpr std::string_view kPtFile = "perf.data";

struct EmulatedPt {
  unsigned cores = 2;
};

// heddle record --mode pt --emulate: runs until one fails.
Result<RecordResult> record_emulated_pt(const std::filesystem::path& program, const RecordRequest& request,
                                        const EmulatedPt& options,
                                        const std::function<void(const RecordState&)>& progress);

// The paths of all threads in a perf.data file of this program, in the order of their names. `died_at`: the
// instruction that the thread `died` (a tid) died of.
struct PtTrace {
  std::unique_ptr<PtPaths> paths;
  std::vector<uint32_t> tids;
  uint64_t load_base = 0;
  uint64_t gaps = 0, instructions = 0;
};
Result<PtTrace> read_pt_trace(const std::filesystem::path& perf_data, const Program& program,
                              const RecordPlan& plan, size_t arguments, uint32_t died = 0,
                              uint64_t died_at = 0);

}  // namespace heddle
