// Recordings made by Intel PT (docs/pt.md): the folder holds perf.data in place of logs. Of each thread there
// is the head of a log, with addresses that stand for those of the process (pt/pt_path_source.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"
#include "driver/perf_record.h"
#include "driver/record.h"
#include "program/record_plan.h"
#include "pt/pt_path_source.h"
#include "recording/recording_info.h"

namespace heddle {

inline constexpr std::string_view kPtVariant = "pt";  // RecordingInfo::variant: the program itself
bool is_by_pt(const RecordingInfo& info);             // that, or with PTWRITE instructions
inline constexpr std::string_view kPtFile = "perf.data";

// One run that was traced.
struct PtRun {
  TracedEnd end;
  std::string perf_data;
  std::vector<std::string> notes;  // for people
};

struct EmulatedPt {
  unsigned cores = 2;
  bool ptwrite = false;  // the variant of this name runs (instrument/ptwrite.h)
};
using PtProgress = std::function<void(const RecordState&)>;

// heddle record --mode pt: runs until one fails; by the hardware, or with --emulate.
Result<RecordResult> record_emulated_pt(const std::filesystem::path& program, const RecordRequest& request,
                                        const EmulatedPt& options, const PtProgress& progress);
Result<RecordResult> record_hardware_pt(const std::filesystem::path& program, const RecordRequest& request,
                                        const HardwarePt& options, const PtProgress& progress);

// heddle import: a trace that was made elsewhere. How the program ended, as far as the user says: `signal` and
// `exit_code`; what is 0 is found out from where the threads stand, if it can be.
Result<RecordResult> import_pt(const std::filesystem::path& program, const RecordRequest& request,
                               const std::filesystem::path& perf_data, TracedEnd end);

// The paths of all threads in a perf.data file of this program, in the order of their names. `end`: as far as
// it is known; the process is found in the file if it is not. `inputs`: of whoever follows the paths.
// `ptwrite`: what ran in the program's place, by the same plan.
struct PtTrace {
  std::unique_ptr<PtPaths> paths;
  std::vector<uint32_t> tids;
  uint32_t pid = 0;
  uint64_t load_base = 0;
  uint64_t arguments = 0, argument_text = 0;  // of main
  uint64_t gaps = 0, instructions = 0;
};
Result<PtTrace> read_pt_trace(const std::filesystem::path& perf_data, const Program& program,
                              const RecordPlan& plan, size_t arguments, const TracedEnd& end,
                              PtInputs inputs = {}, const std::filesystem::path& ptwrite = {});

}  // namespace heddle
