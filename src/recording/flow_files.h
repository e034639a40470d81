// Files that a flow recording names instead of holding what was read from them (runtime/flow/files.c).
//
// They are copied into the recording, as inputs/DEVICE-INODE, when the run is over and the recording is to be
// kept; the runtime has done so already with those that the program was about to change. A file that is another
// one by then (number, size, time of the last change) cannot be kept: that is said at once. A recording without
// its copies, as after kill -9 of heddle itself, replays as long as the files are what they were.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "recording/flow_log.h"

namespace heddle {

// Returns what could not be kept, a line for each.
std::vector<std::string> keep_flow_files(const std::filesystem::path& recording,
                                         const std::vector<FlowThread>& threads);

// An error if what was read from one of the files cannot be read again.
Result<void> check_flow_files(const std::filesystem::path& recording, const std::vector<FlowThread>& threads);

}  // namespace heddle
