// For tests: the symbolic trace of a recording, in numbers.
//
//   trace_of RECORDING [--text] [--passes MOST]
//
// Exit code 1 if something that was computed is not what was recorded, the passes ran out, or the trace does not
// fit together.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/recorded_trace.h"
#include "trace/trace_check.h"
#include "trace/trace_text.h"

int main(int argc, char** argv) {
  using namespace heddle;
  if (argc < 2) return 2;
  SymbolicOptions options{.jobs = 2};
  bool text = false;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--text") == 0) text = true;
    if (std::strcmp(argv[i], "--passes") == 0 && i + 1 < argc)
      options.most_passes = static_cast<unsigned>(std::atoi(argv[++i]));
  }
  SymbolicStatistics statistics;
  const Result<Trace> trace = trace_of_recording(argv[1], {}, options, statistics);
  if (!trace) {
    fmt::print("{}\n", trace.error().text());
    return 1;
  }
  if (text) fmt::print("{}", trace_text(*trace));
  uint64_t events = 0, constraints = 0;
  for (const ThreadTrace& thread : trace->threads) {
    events += thread.events.size();
    constraints += thread.constraints.size();
  }
  fmt::print(
      "{} threads, {} events, {} constraints, {} accesses, {} of them shared, {} approximations, {} passes, {} "
      "instructions, "
      "{}exact, {} mismatches {}\n",
      trace->threads.size(), events, constraints, trace->accesses, trace->shared_accesses,
      trace->approximations.size(), statistics.passes, statistics.instructions, trace->exact ? "" : "not ",
      statistics.mismatches, statistics.first_mismatch);
  const Result<void> fits = check_trace(*trace);
  if (!fits) fmt::print("{}\n", fits.error().text());
  return fits && trace->exact ? 0 : 1;
}
