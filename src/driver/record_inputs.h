// Copies of the files that a recorded program read: logs refer to their bytes by number and offset.
#pragma once

#include <filesystem>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "recording/recording_info.h"

namespace heddle {

// Into inputs/ of the recording, each content once. A file that is not any more as the program saw it (device,
// inode, size, time of change) is not copied, since its bytes may be others. The error is about the recording's
// side: a full disk.
Result<std::vector<RecordedFile>> keep_inputs(const std::vector<heddle_record_file>& files,
                                              const std::filesystem::path& folder);

// Their names only.
std::vector<RecordedFile> list_inputs(const std::vector<heddle_record_file>& files);

// Environment variables as recorded programs get them: NAME=VALUE.
std::vector<std::string> environment_of_runs();

// Standard input, an ordinary file, from `begin` on.
Result<void> keep_standard_input(int input, int64_t begin, const std::filesystem::path& folder);

}  // namespace heddle
