// From a recording to its symbolic trace (CLAP section 3.1; D4, D5).
//
// All threads are interpreted, creators before what they created, several at a time. At first nothing counts as
// shared: each thread sees its own memory, and what its creator had written before. Then the bytes are known
// that two threads use and one of them writes; the threads are interpreted again with accesses of those as
// events, and so on until no more bytes are shared. The first value that a pass gets wrong, in the order of the
// real run, comes from a write of another thread that this pass has got right, so the next pass has an event
// there: what is left in the end is right.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"
#include "program/record_plan.h"
#include "recording/entries.h"
#include "recording/log_file.h"
#include "recording/path_source.h"
#include "recording/recording_info.h"
#include "symex/program_image.h"
#include "trace/trace.h"

namespace heddle {

struct SymbolicOptions {
  unsigned jobs = 1;
  unsigned most_passes = 20;
};

struct SymbolicStatistics {
  unsigned passes = 0;
  uint64_t instructions = 0;  // of the last pass
  uint64_t shared_bytes = 0;
  uint64_t mismatches = 0;  // places where what was computed is not what was recorded: should be none
  std::string first_mismatch;
};

struct RecordedThreadLog {
  std::string name;
  LogFile log;                         // its head; and the path, unless that comes from elsewhere:
  std::shared_ptr<PathSource> source;  // may be null
  std::vector<SignalEntry> jumps;      // out of handlers that interrupted it (recording/interruptions.h)
};

// `logs`: of ordinary code, one for each thread. `handlers`: those of signal handlers. `read_file` gives bytes
// of files that were kept.
struct SymbolicInput {
  const Program& program;
  const RecordPlan& plan;
  const ProgramImage& image;
  const RecordingInfo& info;
  std::vector<RecordedThreadLog> logs, handlers;
  std::function<std::optional<std::vector<uint8_t>>(uint64_t file, uint64_t offset, uint64_t size)> read_file;
};

Result<Trace> make_trace(const SymbolicInput& input, const SymbolicOptions& options,
                         SymbolicStatistics& statistics);

}  // namespace heddle
