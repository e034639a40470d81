// Flow recordings on a terminal: replaying one, and what heddle show says of it.
#pragma once

#include <filesystem>
#include <string>

#include "cli/verb.h"
#include "replay/guide.h"

namespace heddle {

// `at`: where the program is now; empty: where it was.
// `guide`, where wanted: the order of the replay.
Result<ExitCode> replay_flow_recording(const std::filesystem::path& recording, const std::filesystem::path& at,
                                       uint64_t times, const CommonOptions& common, Guide* guide = nullptr);

std::string flow_text(const std::filesystem::path& recording);

}  // namespace heddle
