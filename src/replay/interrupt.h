// Ctrl-C: a flag instead of a sudden end, so that whoever runs programs ends them, keeps what was found and
// says what was done so far.
#pragma once

#include <atomic>

namespace heddle {

// While it lives, SIGINT, SIGTERM and SIGHUP set the flag. A second SIGINT or SIGTERM ends the process at once
// (the programs it started are killed by the kernel with it). One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();
const std::atomic<bool>& interrupt_flag();  // the same, for those who ask often

}  // namespace heddle
