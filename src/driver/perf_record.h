// perf record with Intel PT: the command for this machine, and a run of a program under it.
//
// perf starts `heddle pt-run` (cli/verb_import.cpp) in the program's place, which starts the program and writes
// down how it ended (pt/waited_process.h): perf itself tells the exit code only.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "doctor/machine.h"
#include "pt/traced_end.h"

namespace heddle {

struct HardwarePt {
  bool snapshot = false;                // keep the last part only, taken when the program ends
  std::optional<uint64_t> buffer_size;  // of each core, bytes; nothing: perf's own choice
  bool ptwrite = false;                 // the program has PTWRITE instructions, which go into the trace
};

// The instruction is an illegal one on processors that do not have it.
Result<void> need_ptwrite(const Machine& machine);

// What goes before the program: perf and its options. Timing packets and address filters as the machine has
// them.
std::vector<std::string> perf_record_words(const Machine& machine, const HardwarePt& options,
                                           const std::filesystem::path& program,
                                           const std::filesystem::path& output);

// Of the program.
struct PerfStreams {
  std::string input;             // a file; empty: heddle's own
  bool output_to_error = false;  // its output goes where errors go
};

struct PerfRun {
  TracedEnd end;
  std::string messages;  // perf's own
};
// An error says what perf or the machine lacks (doctor/pt.cpp) and what else can be done.
Result<PerfRun> run_under_perf(const Machine& machine, const HardwarePt& options,
                               const std::vector<std::string>& command, const std::filesystem::path& output,
                               std::optional<std::chrono::milliseconds> time_limit, const PerfStreams& streams);

}  // namespace heddle
