// One run of a recorded program: started with its own environment on all cores, watched until it ends, fails,
// hangs or has to be stopped. Its logs are in the folder whatever happens, also when heddle is killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/record_capture.h"
#include "driver/record_failure.h"
#include "recording/process_file.h"

namespace heddle {

struct RunSpec {
  std::filesystem::path executable;  // the variant
  std::vector<std::string> command;  // argv
  std::filesystem::path folder;      // of the recording; absolute
  int input = -1;                    // standard input, read from its start; -1: heddle's own
  bool output_to_error = false;      // standard output goes where errors go
  int output = -1;                   // what it writes to both goes there instead; -1: to heddle's own
  std::optional<std::chrono::milliseconds> hang_timeout;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // The same addresses in each run: no randomisation, and an environment of the same size whatever the folder
  // is.
  bool fixed_addresses = false;
  std::optional<std::vector<std::string>> environment;  // instead of heddle's own
  std::filesystem::path working_folder;                 // empty: heddle's own
  bool no_output = false;                               // what it writes is thrown away
};

struct RunEnd {
  enum class Kind { ended, hang, stalled, interrupted, out_of_time } kind = Kind::ended;
  ProcessStatus status;
  bool core_dumped = false;
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::optional<Capture> capture;  // a failure, hang or interruption was looked at
};

// Stops and kills the program for hang, stall (stalled_process.h), interruption and deadline.
Result<RunEnd> run_recorded(const RunSpec& spec, ProcessFile& process);

}  // namespace heddle
