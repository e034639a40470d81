// The machine we run on, seen through the system's own calls.
#include "doctor/machine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/files.h"
#include "doctor/trial.h"

namespace heddle {
namespace {

// Long enough for a compiler on a cold disk, short enough for a person who waits.
constexpr const char* kSeconds = "20";
constexpr int kTimedOut = 124;  // exit code of timeout(1)

uint64_t bytes_in(const fs::path& folder) {
  uint64_t total = 0;
  std::error_code code;
  // Not a range-for: its increment throws, and another heddle may remove a folder while we look into it.
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, code), end;
  while (!code && it != end) {
    std::error_code gone;
    if (it->symlink_status(gone).type() == fs::file_type::regular) {
      const uint64_t size = it->file_size(gone);
      if (!gone) total += size;
    }
    it.increment(code);
  }
  return total;
}

uint64_t limit_value(rlim_t value) {
  return value == RLIM_INFINITY ? kUnlimited : value;
}

Result<ProcessEnd> run_bounded(const std::vector<std::string>& argv) {
  // Looked for here: behind timeout(1) a missing program would be just another exit code.
  if (find_in_path(argv[0]).empty()) return Error{.what = "not found or not executable"};
  std::vector<std::string> command = argv;
  if (const fs::path timeout = find_in_path("timeout"); !timeout.empty())
    command.insert(command.begin(), {timeout.string(), "-k", "1", kSeconds});
  ProcessEnd end = HEDDLE_TRY(
      run_process(command, {.environment = {{"LC_ALL", "C"}}, .output = ProcessOptions::Output::capture}));
  if (end.exit_code == kTimedOut) return Error{.what = std::string("no answer in ") + kSeconds + " s"};
  return end;
}

class ThisMachine final : public Machine {
 public:
  std::optional<std::string> read(const fs::path& path) const override {
    Result<std::string> text = read_file(path);
    return text ? std::optional(*std::move(text)) : std::nullopt;
  }

  std::string access_problem(const fs::path& path, Right right) const override {
    const int mode = right == Right::exists  ? F_OK
                     : right == Right::read  ? R_OK
                     : right == Right::write ? W_OK
                                             : X_OK;
    return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? "" : std::strerror(errno);
  }

  std::string environment(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  }

  fs::path find_program(const std::string& name) const override { return find_in_path(name); }

  Result<ProcessEnd> run(const std::vector<std::string>& argv) const override {
    const auto it = ended_.find(argv);
    return it != ended_.end() ? it->second : ended_.emplace(argv, run_bounded(argv)).first->second;
  }

  LimitValue limit(Limit which) const override {
    rlimit value{};
    if (::getrlimit(which == Limit::core_size ? RLIMIT_CORE : RLIMIT_NPROC, &value) != 0) return {};
    return {limit_value(value.rlim_cur), limit_value(value.rlim_max)};
  }

  int attempt(Trial trial) const override { return try_for_real(trial); }

  Result<CacheFolder> cache() const override {
    CacheFolder cache{.path = HEDDLE_TRY(cache_folder())};
    // A folder is made for a moment: rights say nothing about read-only or full file systems.
    if (Result<TempFolder> probe = TempFolder::create(cache.path); !probe) {
      cache.problem = probe.error().what + (probe.error().why.empty() ? "" : ": " + probe.error().why);
    }
    std::error_code code;
    if (const fs::space_info space = fs::space(cache.path, code); !code) cache.free_bytes = space.available;
    cache.used_bytes = bytes_in(cache.path);
    return cache;
  }

  fs::path executable() const override { return executable_path(); }

 private:
  // Several checks ask the compiler for its version: one that hangs must be waited for only once.
  mutable std::map<std::vector<std::string>, Result<ProcessEnd>> ended_;
};

}  // namespace

std::unique_ptr<Machine> this_machine() {
  return std::make_unique<ThisMachine>();
}

}  // namespace heddle
