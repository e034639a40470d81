// Writes the core file of a process whose threads stand still (ptrace), as the kernel would: where a crash is
// caught by heddle record, no setting of the machine (core_pattern, ulimit -c) decides whether there is a core.
//
// Memory that was mapped from a file and cannot have been written is left out but for its first page, which has
// the build id; so are pages that hold nothing but zeros (the file has holes there).
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"

namespace heddle {

struct CoreSource {
  pid_t pid = 0;
  std::vector<pid_t> threads;       // in ptrace-stops of the caller; the one that failed first
  int signal = 0;                   // that ends the process; 0: it was running
  std::optional<siginfo_t> reason;  // of that signal
};

// Bytes that the file seems to have. Readable by its owner only: it holds the program's data.
Result<uint64_t> write_core(const CoreSource& source, const std::filesystem::path& file);

}  // namespace heddle
