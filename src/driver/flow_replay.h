// Replays a flow recording: the executable that was recorded runs again, its threads in an order that keeps to
// what was recorded, with everything that came from outside given back. Then the values that each thread read
// are compared, and how the run ended.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "driver/recorded_program.h"
#include "recording/flow_log.h"
#include "recording/flow_schedule.h"
#include "recording/recording_info.h"
#include "replay/guide.h"

namespace heddle {

// Written beside a recording's logs before the start.
Result<void> write_flow_plan(const std::filesystem::path& folder, const RecordingOptions& options, bool replay,
                             bool names = false);

struct FlowReplayOptions {
  bool output_to_error = false;
  bool quiet = false;  // the program's output is thrown away
  bool guide = false;  // wanted: FlowReplay::guide
};

struct FlowReplay {
  uint64_t threads = 0, events = 0, edges = 0, steps = 0, outside = 0;
  std::chrono::nanoseconds scheduling{}, running{};
  std::string end;                       // how it ended, in words
  std::vector<std::string> differences;  // empty: the same values at every read, the same end
  bool interrupted = false;
  Guide guide;  // the order that was replayed, for a controlled run
};

Result<FlowReplay> replay_flow(const std::filesystem::path& recording, const RecordingInfo& info,
                               const RecordedProgram& program, const FlowReplayOptions& options);

}  // namespace heddle
