// A native run of a program, watched through ptrace: on all cores at full speed, until a signal is about to end
// it or it hangs; then a core of it is written (heddle record --mode core).
//
// With disturbances, threads are stopped at random: one is stepped some instructions of the program's own
// code on, held there for a while, during which the others run as they like, and goes on. So it loses its
// processor where it stands, as by the kernel's scheduler, only at more places. Nothing is put into the
// program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

struct WatchedRun {
  std::filesystem::path executable;
  std::vector<std::string> command;  // argv
  int input = -1;                    // standard input, read from its start; -1: heddle's own
  bool output_to_error = false;
  bool no_output = false;
  std::optional<uint64_t> chaos;  // seed of the disturbances
  std::optional<std::chrono::milliseconds> hang_timeout;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::filesystem::path core;  // where it goes
};

struct WatchedEnd {
  enum class Kind { ended, crashed, hung, interrupted, out_of_time };
  Kind kind = Kind::ended;
  int signal = 0;             // crashed: that it died of
  int exit_code = 0;          // ended
  uint64_t core_bytes = 0;    // crashed, hung: of the core that was written
  uint64_t disturbances = 0;  // how often a thread was held
};

Result<WatchedEnd> run_watched(const WatchedRun& run);

}  // namespace heddle
