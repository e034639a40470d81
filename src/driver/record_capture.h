// A look at the recorded program while it fails, hangs or is interrupted: every thread is stopped for some
// milliseconds, what its state holds goes into the head of its log (abi/record.h: looked_at), its stack is
// taken.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "image/process_stacks.h"

namespace heddle {

struct Capture {
  std::map<pid_t, std::vector<ProcessFrame>> stacks;  // by thread
  std::vector<std::string> maps;                      // lines of /proc/PID/maps
  std::string problem;                                // why it could not be done; empty: it was
};

// `folder`: of the recording. Problems are no errors: a recording without stacks is still one.
Capture capture_process(pid_t pid, const std::filesystem::path& folder);

}  // namespace heddle
