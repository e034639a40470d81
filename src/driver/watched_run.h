// A native run of a program, watched through ptrace: on all cores at full speed, until a signal is about to end
// it or it hangs; then a core of it is written (heddle record --mode core).
//
// With disturbances, threads are stopped and held for a while, during which the others run as they like. So
// they lose their processor where they stand, as by the kernel's scheduler, only at more places. In some runs
// that is anywhere: a thread is stopped at random and stepped some instructions of the program's own code on.
// In others it is at a few places of the code, drawn from those that were stepped through before, whoever comes
// there: a failure that takes one of many moments takes one of few places. Nothing is put into the program: the
// processor's debug registers stop threads at places, and behind calls of libraries that are not stepped
// through.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

// Instructions of the program's own code that threads were seen at, as distances from where that code begins.
struct SeenPlaces {
  std::set<uint64_t> all;
};

struct WatchedRun {
  std::filesystem::path executable;
  std::vector<std::string> command;  // argv
  int input = -1;                    // standard input, read from its start; -1: heddle's own
  bool output_to_error = false;
  bool no_output = false;
  std::optional<uint64_t> chaos;  // seed of the disturbances
  SeenPlaces* seen = nullptr;  // by runs before; this one adds to it. Null: threads are stopped at random only
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
