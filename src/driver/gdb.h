// heddle replay --gdb: gdb on a replay with real threads, with commands that know the schedule.
//
// gdb starts the program through heddle itself (its exec-wrapper), so that the process begins as in every
// controlled run: same environment, descriptors and addresses. The plan waits in the memory file, which gdb and
// the program inherit.
#pragma once

#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/result.h"
#include "driver/control_setup.h"

namespace heddle {

inline constexpr const char* kGdbLaunchVerb = "--launch-for-gdb";

// Runs gdb to its end. With commands, gdb executes them and quits; without, it stops at the beginning of main()
// and listens to the user.
Result<ExitCode> replay_in_gdb(const Schedule& schedule, const ControlSetup& setup, const RunRules& rules,
                               const std::vector<std::string>& commands);

// heddle as gdb's exec-wrapper: becomes the program that the file describes. Returns only when that fails.
Error launch_for_gdb(const std::string& spec_file);

}  // namespace heddle
