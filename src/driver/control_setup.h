// What run, hunt and replay begin with: the program, its control variant and how it is started.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "recording/recording_info.h"
#include "replay/program_executor.h"

namespace heddle {

struct ControlSetup {
  std::unique_ptr<ControlledProgram> program;
  LaunchOptions launch;
};

// A command as the user gave it, in the current folder. `environment`: NAME=VALUE, or NAME for the value that
// it has now (nothing when it is not set). LD_LIBRARY_PATH is always taken over: without it the program may not
// start.
Result<ControlSetup> setup_command(const std::vector<std::string>& command,
                                   const std::vector<std::string>& environment);

// The command of a schedule, in its folder. `program`: another place of the executable; empty: where the
// schedule says. The error of a schedule that belongs to another program names both identities.
Result<ControlSetup> setup_schedule(const Schedule& schedule, const std::filesystem::path& program);

// The command of the recording in `folder`, where it ran then, with its environment if the program asks for it,
// and its standard input. `program` as above.
Result<ControlSetup> setup_recording(const RecordingInfo& info, const std::filesystem::path& folder,
                                     const std::filesystem::path& program);

Result<Schedule> load_schedule(const std::filesystem::path& file);

// A file with all of it, which each run reads from its start. "-" is heddle's standard input; empty: standard
// input if it is an ordinary file, else nothing. Returns -1 for nothing.
Result<int> open_input(const std::string& name);
// What controlled runs read: the file that the user gives, or else the one that schedule or recording name.
Result<void> set_input(LaunchOptions& launch, const std::string& given);

// Can a schedule be written there? Asked before much time is spent. Empty: in the current folder.
Result<void> check_output(const std::filesystem::path& file);

// A file is replaced as a whole, so that no half-written one is ever seen; what is no ordinary file (/dev/null,
// a pipe, a symbolic link) is written to.
Result<void> save_schedule(const std::filesystem::path& file, const Schedule& schedule);

// When the user names no file: into NAME.heddle, NAME.1.heddle, ... in the current folder, the first that does
// not exist, even when several hunts write at the same time.
Result<std::filesystem::path> save_new_schedule(const std::filesystem::path& program, const Schedule& schedule);

}  // namespace heddle
