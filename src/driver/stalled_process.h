// Tells that a running program cannot go on by itself: each of its threads waits for another one. Without it a
// deadlock or a lost wake-up of a native run shows only in that the run takes long, which needs a time that
// somebody has to know (--hang-timeout).
//
// Seen from outside, in /proc/PID/task/*/syscall: all threads stand in futex calls without a time limit, and
// have stood in them for a while without a pause. Others may end such a wait in two ways, and where they might
// this says nothing: a signal that the program catches, and another process, where the futex is in shared
// memory. Calls that allow for that are looked up in the map of memory: std::atomic<>::wait makes such ones
// whatever the memory, and so does the C library when it waits for the end of a thread (the value is its
// number).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace heddle {

class StalledProcess {
 public:
  explicit StalledProcess(pid_t pid) : pid_(pid), next_(Clock::now() + kBetween) {}

  // To be asked often; looks rarely. True once the threads have waited for kPatience.
  bool look();

  static constexpr std::chrono::milliseconds kPatience{2000};

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween{250};

  pid_t pid_;
  Clock::time_point next_;
  std::string waits_;  // of all threads, at the look before; empty: one did not wait
  Clock::time_point since_;
};

}  // namespace heddle
