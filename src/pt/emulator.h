// Intel PT without the hardware: runs a program on virtual cores, a few instructions at a time (ptrace), and
// writes the perf.data file that `perf record -a -e intel_pt/cyc,noretcomp/u --switch-events` would have made.
//
// This is an instrument for tests, and a way to try heddle on machines without PT. The process is the real one;
// what is not real: threads run by turns, so memory is sequentially consistent and the program is some thousand
// times slower; tracing begins at the program's entry point, behind the dynamic linker; the process has no
// vDSO. Which core goes on, how long, and where a thread runs next is drawn from a seed; how long system calls
// take is not, so two runs of a seed may differ.
//
// With own_code_only, code outside of the executable runs natively (own_code.h), up to where it comes back,
// calls the kernel, or has taken too long: others go on then, as somebody may be waiting for them. Now and then
// some of it is stepped, so that threads also change inside of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pt/traced_end.h"

namespace heddle {

struct EmulatorOptions {
  std::vector<std::string> command;  // command[0]: the executable
  std::string input;                 // a file that is its standard input; empty: that of the caller
  unsigned cores = 2;
  uint64_t seed = 1;
  bool own_code_only = true;    // as with an address filter on the executable
  uint64_t slice = 300;         // how many instructions a thread has a core for, about
  uint64_t overflow_every = 0;  // instructions of a core until packets are lost; 0: never
  std::optional<std::chrono::milliseconds> time_limit;
  // Tests: every instruction of the range that is traced, in the order of execution.
  std::function<void(int tid, unsigned core, uint64_t address)> executed;
};

struct EmulatedRun : TracedEnd {
  std::string perf_data;
  uint64_t instructions = 0;  // as far as they were stepped or are the program's own
  uint64_t threads = 0;
};

Result<EmulatedRun> emulate(const EmulatorOptions& options);

}  // namespace heddle
