#include "driver/stalled_process.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file, std::string_view begins_with) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begins_with)) return line;
  return {};
}

// Memory that no other process has, whatever the call says (std::atomic<>::wait asks for a futex of all).
bool is_private(pid_t pid, uint64_t address) {
  std::ifstream in(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(in, line);) {
    unsigned long begin = 0, end = 0;
    char protection[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, protection) == 3 && address >= begin &&
        address < end)
      return protection[3] == 'p';
  }
  return false;
}

// Waits until another thread wakes it. `threads`: of the process.
bool waits_for_others(pid_t pid, const std::string& call, const std::set<uint64_t>& threads) {
  unsigned long long number = 0, address = 0, operation = 0, value = 0, limit = 0;
  if (std::sscanf(call.c_str(), "%llu %llx %llx %llx %llx", &number, &address, &operation, &value, &limit) !=
          5 ||
      number != SYS_futex || limit != 0)
    return false;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return (operation & FUTEX_PRIVATE_FLAG) != 0 || threads.contains(value) || is_private(pid, address);
    default:
      return false;
  }
}

// Signals that programs catch for something else than to tell of a crash.
bool catches_signals(pid_t pid) {
  constexpr std::string_view kField = "SigCgt:";
  const std::string line = first_line(fmt::format("/proc/{}/status", pid), kField);
  if (line.empty()) return true;
  uint64_t caught = std::strtoull(line.c_str() + kField.size(), nullptr, 16);
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, 32, 33})  // 32, 33: glibc's
    caught &= ~(uint64_t{1} << (signal - 1));
  return caught != 0;
}

// What all threads wait for, and how often they have waited so far: they are not looked at in one moment, and
// those that wake each other in turn may each be seen waiting. Empty if one does not wait, or may be woken from
// outside.
std::string waits_of(pid_t pid) {
  std::error_code failed;
  std::set<uint64_t> threads;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid), failed), end; !failed && at != end;
       at.increment(failed))
    threads.insert(std::strtoull(at->path().filename().c_str(), nullptr, 10));
  std::string out;
  for (const uint64_t thread : threads) {
    const std::string folder = fmt::format("/proc/{}/task/{}/", pid, thread);
    const std::string call = first_line(folder + "syscall", "");
    const std::string waited = first_line(folder + "status", "voluntary_ctxt_switches:");
    if (!waits_for_others(pid, call, threads) || waited.empty()) return {};
    out += fmt::format("{} {} {}\n", thread, call, waited);
  }
  return out.empty() || catches_signals(pid) ? std::string() : out;
}

}  // namespace

bool StalledProcess::look() {
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = now + kBetween;
  std::string waits = waits_of(pid_);
  if (waits != waits_) {
    waits_ = std::move(waits);
    since_ = now;
  }
  return !waits_.empty() && now - since_ >= kPatience;
}

}  // namespace heddle
