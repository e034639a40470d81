#include "doctor/trial.h"

#include <linux/perf_event.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

namespace heddle {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);

// A child that runs `body` (async-signal-safe calls only) and ends with what it returns; killed and reaped at
// the latest when the object dies.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
  }
  Child(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);  // also ends a child that is stopped or traced
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t pid() const { return pid_; }
  bool started() const { return pid_ > 0; }

  // The next stop or end; nothing when there is none in time.
  std::optional<int> wait() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      int status = 0;
      const pid_t got = ::waitpid(pid_, &status, WNOHANG | WUNTRACED);
      if (got == pid_) {
        if (WIFEXITED(status) || WIFSIGNALED(status)) pid_ = -1;
        return status;
      }
      if ((got < 0 && errno != EINTR) || std::chrono::steady_clock::now() > deadline) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  pid_t pid_;
};

// The errno that a child handed over as its exit code.
int exit_errno(const std::optional<int>& status) {
  if (!status) return ETIMEDOUT;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : EPERM;  // a seccomp filter may kill instead of refusing
}

int trace_child() {
  Child child([] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return errno;
    ::raise(SIGSTOP);
    return 0;
  });
  if (!child.started()) return errno;
  const std::optional<int> stop = child.wait();
  if (!stop || !WIFSTOPPED(*stop)) return exit_errno(stop);
  // Without a tracer there is a stop too; only a tracer can let the child go on in this way.
  if (::ptrace(PTRACE_CONT, child.pid(), nullptr, nullptr) != 0) return errno;
  return exit_errno(child.wait());
}

int attach_child() {
  Child child([] {
    while (true) ::pause();
    return 0;
  });
  if (!child.started()) return errno;
  if (::ptrace(PTRACE_ATTACH, child.pid(), nullptr, nullptr) != 0) return errno;
  const std::optional<int> stop = child.wait();
  return stop && WIFSTOPPED(*stop) ? 0 : exit_errno(stop);
}

int fixed_addresses() {
  constexpr unsigned long kAsk = 0xffffffff;
  Child child([] {
    if (::personality(ADDR_NO_RANDOMIZE) == -1) return errno;
    return (::personality(kAsk) & ADDR_NO_RANDOMIZE) != 0 ? 0 : EPERM;
  });
  return child.started() ? exit_errno(child.wait()) : errno;
}

int perf_event() {
  Child child([] {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;  // needs no hardware: this is about rights
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0 ? 0 : errno;
  });
  return child.started() ? exit_errno(child.wait()) : errno;
}

}  // namespace

int try_for_real(Trial trial) {
  switch (trial) {
    case Trial::trace_child:
      return trace_child();
    case Trial::attach_child:
      return attach_child();
    case Trial::fixed_addresses:
      return fixed_addresses();
    case Trial::perf_event:
      return perf_event();
  }
  report_bug("a trial that nobody tries", __FILE__, __LINE__);
}

}  // namespace heddle
