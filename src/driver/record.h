// heddle record: runs of a program on real threads until one fails; the recording of that run is kept.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/record_run.h"
#include "driver/recorded_program.h"
#include "recording/recording_info.h"

namespace heddle {

struct RecordRequest {
  RecordingOptions recording;  // `seed` is that of the first run; each further run has the next
  std::vector<std::string> command;
  std::filesystem::path output;  // empty: NAME.rec, NAME.1.rec, ... in the current folder
  int input = -1;                // standard input of each run; -1: heddle's own
  bool output_to_error = false;  // the program's standard output goes where errors go
  bool hold_output = false;      // what it writes to either is held back (RecordResult::output)
  uint64_t runs = 1;
  std::optional<std::chrono::milliseconds> time;
  bool keep_passing = false;  // the last run's recording is kept too when it did not fail
};

struct RecordState {
  uint64_t runs = 0;  // that ended
  std::chrono::milliseconds elapsed{};
  uint64_t log_bytes = 0;  // of the last run
};

struct RecordResult {
  enum class End { failure, all_runs, out_of_time, interrupted };
  End end = End::all_runs;
  RecordState state;
  RecordingInfo info;            // of the last run
  std::filesystem::path folder;  // where its recording is; empty: it was not kept
  std::string output;  // hold_output: what the run wrote whose recording was kept; of much the last part
  std::optional<Error>
      unwritten;  // what could not be written of it, such as for want of space: the logs are there
};

Result<RecordResult> record(const RecordedProgram& program, const RecordRequest& options,
                            const std::function<void(const RecordState&)>& progress);

// Where the kernel has put the core file of this process, as far as the pattern is that of a plain file which
// exists; empty otherwise. `folder`: where the program ran.
std::filesystem::path find_core_file(std::string_view pattern, bool with_pid, pid_t pid, int signal,
                                     const std::string& program, const std::filesystem::path& folder);

}  // namespace heddle
