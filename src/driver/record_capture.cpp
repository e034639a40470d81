#include "driver/record_capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "abi/record.h"
#include "base/files.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

constexpr size_t kDepth = 128;  // frames of a thread

// The state of the thread that writes this log, into the log's head. The thread is stopped; nobody else writes
// there.
void note_state(const StoppedProcess& process, const std::set<pid_t>& alive, const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  heddle_record_log head{};
  const bool read = ::pread(fd, &head, sizeof head, 0) == sizeof head;
  heddle_record_state state{};
  if (read && head.magic == HEDDLE_RECORD_LOG_MAGIC && head.end_tsc == 0 && alive.contains(head.tid) &&
      process.read(head.state, &state, sizeof state) == sizeof state) {
    head.pending_path = state.path;
    head.pc = process.pc_of(head.tid);
    head.looked_at = 1;
    const size_t from = offsetof(heddle_record_log, looked_at);
    [[maybe_unused]] const ssize_t ignored =
        ::pwrite(fd, reinterpret_cast<const char*>(&head) + from, sizeof head - from, from);
  }
  ::close(fd);
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Capture capture_process(pid_t pid, const fs::path& folder) {
  Capture capture;
  const Result<StoppedProcess> process = StoppedProcess::stop(pid);
  if (!process) {
    capture.problem = process.error().what;
    return capture;
  }
  const std::set<pid_t> alive(process->threads().begin(), process->threads().end());
  std::error_code code;
  for (fs::directory_iterator at(folder / kThreadsFolder, code), end; !code && at != end; at.increment(code))
    if (at->path().extension() == ".log") note_state(*process, alive, at->path());
  capture.stacks = process->stacks(kDepth);
  capture.maps = lines_of("/proc/" + std::to_string(pid) + "/maps");
  return capture;
}

}  // namespace heddle
