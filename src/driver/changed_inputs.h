// Controlled runs read the program's inputs from where they were. Which of them are no longer what the recorded
// run read?
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "recording/recording_info.h"

namespace heddle {

// A line for each file that is missing or differs, with where the recording in `folder` keeps it, if it does.
std::vector<std::string> changed_inputs(const RecordingInfo& info, const fs::path& folder);

}  // namespace heddle
