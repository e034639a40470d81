// What `heddle doctor` may ask the machine. Everything a check learns comes through here, so a test can invent
// a machine (fake_machine.h) and state what the check must say about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace heddle {

// Things that settings promise and that sandboxes forbid all the same: tried for real, in a forked child.
enum class Trial {
  trace_child,      // PTRACE_TRACEME, as a debugger starts a program
  attach_child,     // PTRACE_ATTACH to a running process of ours
  fixed_addresses,  // personality(ADDR_NO_RANDOMIZE)
  perf_event,       // perf_event_open on ourselves, user space only
};

enum class Limit { core_size, processes };
inline constexpr uint64_t kUnlimited = UINT64_MAX;

struct LimitValue {
  uint64_t soft = kUnlimited;
  uint64_t hard = kUnlimited;
};

enum class Right { exists, read, write, execute };

struct CacheFolder {
  std::filesystem::path path;
  std::string problem;                 // why nothing can be written into it; empty: it can
  std::optional<uint64_t> free_bytes;  // on its disk, for this user
  uint64_t used_bytes = 0;
};

class Machine {
 public:
  virtual ~Machine() = default;

  // Files of /proc, /sys and /etc: nothing when the file is not there or not readable.
  virtual std::optional<std::string> read(const std::filesystem::path& path) const = 0;
  // Empty when this process has the right, else the reason in the system's words.
  virtual std::string access_problem(const std::filesystem::path& path, Right right) const = 0;
  virtual std::string environment(const std::string& name) const = 0;
  virtual std::filesystem::path find_program(const std::string& name) const = 0;  // in PATH; empty: none
  // Standard output and error together, in English. A program that does not end in time is an error.
  virtual Result<ProcessEnd> run(const std::vector<std::string>& argv) const = 0;
  virtual LimitValue limit(Limit limit) const = 0;
  virtual int attempt(Trial trial) const = 0;  // 0, or the errno it failed with
  virtual Result<CacheFolder> cache() const = 0;
  virtual std::filesystem::path executable() const = 0;  // heddle itself
};

// The one we run on.
std::unique_ptr<Machine> this_machine();

}  // namespace heddle
