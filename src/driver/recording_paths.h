// The path of each recorded thread as source lines, by the decoder (src/recording).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "program/effects.h"
#include "program/program.h"
#include "program/record_plan.h"
#include "recording/pack.h"
#include "recording/recording_info.h"

namespace heddle {

// What logs are read by: the program as it was recorded.
struct RecordedCode {
  std::unique_ptr<Program> program;
  std::unique_ptr<EffectsTable> effects;
  std::unique_ptr<RecordPlan> plan;
};

// `program`: where the executable is now; empty: where it was. The error about another program names both
// identities.
Result<RecordedCode> load_recorded_code(const RecordingInfo& info, const std::filesystem::path& folder,
                                        const std::filesystem::path& program);

struct PathLine {
  size_t depth = 0;  // of calls
  std::string function;
  std::string place;    // "file:line" or "file:first-last"; empty: not known
  uint64_t times = 1;   // one after the other
  uint64_t blocks = 1;  // of each time
};

struct ThreadPath {
  std::string thread;
  uint32_t level = 0;
  uint64_t blocks = 0;
  uint64_t skipped = 0;         // lines before those below
  std::vector<PathLine> lines;  // the last ones
  std::string end;              // how it ends, in words

  Json to_json() const;
};

// Of one log. `limit`: how many lines to keep, 0: all.
Result<ThreadPath> thread_path(const RecordedCode& code, const std::filesystem::path& log, uint64_t limit);

// Where in this log the contents of inputs stand. An error when the log cannot be followed to its end, for then
// nobody can say.
Result<std::vector<ByteRange>> input_bytes(const RecordedCode& code, const std::filesystem::path& log);

}  // namespace heddle
