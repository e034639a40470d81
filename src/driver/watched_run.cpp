#include "driver/watched_run.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <random>

#include "base/files.h"
#include "coredump/core_writer.h"
#include "driver/stalled_process.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
constexpr milliseconds kLook(20);            // between two looks at limits
constexpr milliseconds kStopPatience(2000);  // for threads to stand still

// The processor's debug registers of a thread: it stops before it performs the instruction at one of them.
constexpr size_t kStops = 4;
bool stop_at(pid_t thread, size_t number, uint64_t address) {
  const auto at = [](size_t index) { return offsetof(user, u_debugreg) + index * sizeof(unsigned long); };
  const auto control = static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, thread, at(7), nullptr));
  const uint64_t bit = uint64_t{1} << 2 * number;  // an instruction, of one byte: no further bits
  if (::ptrace(PTRACE_POKEUSER, thread, at(7), control & ~bit) != 0) return false;
  return address == 0 || (::ptrace(PTRACE_POKEUSER, thread, at(number), address) == 0 &&
                          ::ptrace(PTRACE_POKEUSER, thread, at(7), control | bit) == 0);
}

// SIGCHLD is waited for, not handled; given back as it was.
class ChildSignal {
 public:
  ChildSignal() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~ChildSignal() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;
  const sigset_t& before() const { return before_; }
  void wait(microseconds time) const {
    const timespec limit{.tv_sec = time.count() / 1'000'000, .tv_nsec = time.count() % 1'000'000 * 1000};
    ::sigtimedwait(&set_, nullptr, &limit);
  }

 private:
  sigset_t set_{}, before_{};
};

bool dumps_core(int signal) {
  switch (signal) {
    case SIGQUIT:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

class Watch {
 public:
  explicit Watch(const WatchedRun& run)
      : run_(run), random_(run.chaos.value_or(0) * 0x9e3779b97f4a7c15ull + 1), begin_(Clock::now()) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    // Each thread may stop on its way out.
    while (true) {
      const pid_t thread = ::waitpid(-1, &status, __WALL);
      if (thread < 0 && errno == EINTR) continue;
      if (thread < 0) break;
      if (WIFSTOPPED(status)) ::ptrace(PTRACE_CONT, thread, nullptr, nullptr);
      if (thread == pid_ && !WIFSTOPPED(status)) break;
    }
  }

  Result<WatchedEnd> go() {
    HEDDLE_TRY(start());
    while (!done_) {
      while (!done_ && take_one()) {
      }
      if (failed_) return *failed_;
      if (done_) break;
      HEDDLE_TRY(look_at_limits());
      if (!done_) signal_.wait(disturb());
    }
    return end_;
  }

 private:
  enum class State : uint8_t { running, stepping, calling, stopping, held };
  struct Thread {
    State state = State::running;
    uint64_t steps = 0;       // stepping: instructions of the program's own code until it is held
    uint64_t budget = 0;      // and at most so many in all
    bool in_program = false;  // stepping: the last instruction was the program's own
    uint64_t back = 0;        // calling: a library, which returns there
    Clock::time_point until;  // held
  };

  Result<void> start() {
    std::vector<char*> argv;
    for (const std::string& word : run_.command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string input = run_.input >= 0 ? fmt::format("/proc/self/fd/{}", run_.input) : "";
    int ready[2], failure[2];
    if (::pipe2(ready, O_CLOEXEC) != 0 || ::pipe2(failure, O_CLOEXEC) != 0)
      return system_error("cannot make a pipe", run_.executable);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error("cannot make a process", run_.executable);
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      char byte;
      ::close(ready[1]);
      [[maybe_unused]] const ssize_t ignored = ::read(ready[0], &byte, 1);  // until we are watched
      ::sigprocmask(SIG_SETMASK, &signal_.before(), nullptr);
      bool fine = true;
      if (!input.empty()) {
        const int descriptor = ::open(input.c_str(), O_RDONLY);
        fine = descriptor >= 0 && ::dup2(descriptor, 0) == 0;
      }
      if (run_.output_to_error) ::dup2(2, 1);
      if (run_.no_output) {
        const int nothing = ::open("/dev/null", O_WRONLY);
        ::dup2(nothing, 1);
        ::dup2(nothing, 2);
      }
      if (fine) ::execv(run_.executable.c_str(), argv.data());
      const int code = errno;
      [[maybe_unused]] const ssize_t told = ::write(failure[1], &code, sizeof code);
      ::_exit(127);
    }
    pid_ = pid;
    stalled_.emplace(pid);
    ::close(ready[0]);
    ::close(failure[1]);
    const bool watched = ::ptrace(PTRACE_SEIZE, pid, nullptr, kOptions) == 0;
    const int refused = errno;
    ::close(ready[1]);
    threads_[pid] = {};
    if (!watched) {
      ::close(failure[0]);
      errno = refused;
      Error error = system_error("the program cannot be watched", "ptrace(PTRACE_SEIZE)");
      error.next = "heddle doctor  (says what forbids it)";
      return error;
    }
    // Until the program itself begins: of a failed start the pipe tells.
    int status = 0, code = 0;
    while (::waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) {
      pid_ = 0;
      const bool told = ::read(failure[0], &code, sizeof code) == sizeof code;
      ::close(failure[0]);
      errno = told ? code : 0;
      return system_error("cannot start the program", run_.executable);
    }
    ::close(failure[0]);
    stopped(pid, status);
    return {};
  }

  // One stop or end of a thread; false: there is none.
  bool take_one() {
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (thread <= 0) return false;
    if (WIFSTOPPED(status)) {
      stopped(thread, status);
      return true;
    }
    ended(thread, status);
    return true;
  }

  void ended(pid_t thread, int status) {
    threads_.erase(thread);
    if (thread != pid_) return;
    pid_ = 0;
    done_ = true;
    if (WIFSIGNALED(status))
      end_.signal = WTERMSIG(status);
    else
      end_.exit_code = WEXITSTATUS(status);
    if (interrupted()) end_.kind = WatchedEnd::Kind::interrupted;
  }

  void stopped(pid_t thread, int status) {
    const int event = status >> 16, signal = WSTOPSIG(status);
    const auto known = threads_.find(thread);
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {  // the program was stopped by a signal (Ctrl-Z)
      ::ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
      return;
    }
    if (known == threads_.end()) {  // it begins
      threads_[thread] = {};
      stop_at_places(thread);
      if (steps_anywhere() && below(3) != 0)
        step_on(thread);
      else
        go_on(thread);
      return;
    }
    Thread& entry = known->second;
    if (event == PTRACE_EVENT_EXEC) {
      learn_code();
      draw_places();
      stop_at_places(thread);
      go_on(thread);
    } else if (event == PTRACE_EVENT_STOP) {
      if (entry.state == State::stopping && may_disturb())
        step_on(thread);
      else
        resume(thread);
    } else if (event == PTRACE_EVENT_CLONE && entry.state == State::running && steps_anywhere() &&
               below(3) == 0) {
      step_on(thread);  // what it does while the new thread begins
    } else if (event != 0) {
      resume(thread);
    } else if (signal == SIGTRAP && entry.state == State::stepping && is_step(thread)) {
      stepped(thread);
    } else if (signal == SIGTRAP && is_stop_at(thread)) {
      came_to_stop(thread);
    } else {
      delivered(thread, signal);
    }
  }

  // Single steps, also the one into a signal handler, are SIGTRAPs of the kernel's own: those of the program
  // (int3, raise) are crashes like others.
  static bool is_step(pid_t thread) {
    siginfo_t info{};
    return ::ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0 && info.si_code != SI_KERNEL &&
           info.si_code > 0;
  }

  static bool is_stop_at(pid_t thread) {
    siginfo_t info{};
    return ::ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0 && info.si_code == TRAP_HWBKPT;
  }

  void delivered(pid_t thread, int signal) {
    if (!dumps_core(signal) || !ends_the_process(signal)) {
      resume(thread, signal);
      return;
    }
    siginfo_t info{};
    const bool told = ::ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0;
    const Result<bool> written = write(thread, signal, told ? std::optional(info) : std::nullopt);
    if (written && !*written) return;
    if (!written) failed_ = written.error();
    end_.kind = WatchedEnd::Kind::crashed;
    end_.signal = signal;
    done_ = true;
  }

  bool ends_the_process(int signal) const {
    std::ifstream in(fmt::format("/proc/{}/status", pid_));
    for (std::string line; std::getline(in, line);) {
      unsigned long mask = 0;
      if (std::sscanf(line.c_str(), "SigCgt: %lx", &mask) == 1 ||
          (std::sscanf(line.c_str(), "SigIgn: %lx", &mask) == 1 && signal == SIGQUIT))
        if ((mask >> (signal - 1) & 1) != 0) return false;
    }
    return true;
  }

  // All threads stand still first. False: there is nothing to write any more, since another thread has ended
  // the process meanwhile (main() returned while a detached thread crashed); nobody but the end is to come.
  Result<bool> write(pid_t failing, int signal, std::optional<siginfo_t> reason) {
    std::vector<pid_t> threads = {failing};
    std::vector<pid_t> moving;
    for (const auto& [thread, entry] : threads_) {
      if (thread == failing) continue;
      if (entry.state == State::held) {
        threads.push_back(thread);
      } else if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0) {
        moving.push_back(thread);
      }
    }
    const auto patience = Clock::now() + kStopPatience;
    while (!moving.empty() && Clock::now() < patience) {
      const size_t before = moving.size();
      std::erase_if(moving, [&](pid_t thread) {
        int status = 0;
        if (::waitpid(thread, &status, __WALL | WNOHANG) != thread) return false;
        if (WIFSTOPPED(status)) threads.push_back(thread);
        return true;
      });
      if (moving.size() == before) signal_.wait(microseconds(200));
    }
    user_regs_struct registers{};
    iovec where{&registers, sizeof registers};
    std::erase_if(threads,
                  [&](pid_t thread) { return ::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &where) != 0; });
    // Of a hang, the main thread may have ended before the others.
    if (threads.empty() || (signal != 0 && threads.front() != failing)) return false;
    end_.core_bytes = HEDDLE_TRY(write_core(
        {.pid = pid_, .threads = std::move(threads), .signal = signal, .reason = reason}, run_.core));
    return true;
  }

  Result<void> look_at_limits() {
    const auto now = Clock::now();
    const auto finish = [&](WatchedEnd::Kind kind) {
      end_.kind = kind;
      done_ = true;
    };
    if (interrupted()) {
      finish(WatchedEnd::Kind::interrupted);
    } else if ((run_.hang_timeout && now - begin_ >= *run_.hang_timeout) || stalled_->look()) {
      // The main thread first, as gcore has it; it stands still like the others.
      ::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
      int status = 0;
      const auto patience = Clock::now() + kStopPatience;
      pid_t got = 0;
      while (threads_[pid_].state != State::held && (got = ::waitpid(pid_, &status, __WALL | WNOHANG)) == 0 &&
             Clock::now() < patience)
        signal_.wait(microseconds(200));
      if (HEDDLE_TRY(write(pid_, 0, std::nullopt))) finish(WatchedEnd::Kind::hung);
    } else if (run_.deadline && now >= *run_.deadline) {
      finish(WatchedEnd::Kind::out_of_time);
    }
    return {};
  }

  // ---- disturbances
  // Who is held does not hang: the second half of the time is for the program alone.
  bool over() const { return run_.hang_timeout && Clock::now() - begin_ >= *run_.hang_timeout / 2; }

  // Mostly one thread at a time: the others are to run while it is held.
  bool may_disturb() {
    const auto disturbed = std::ranges::count_if(threads_, [](const auto& entry) {
      return entry.second.state == State::stepping || entry.second.state == State::held;
    });
    return disturbed == 0 || (several_ && disturbed < 3);
  }

  bool steps_anywhere() { return run_.chaos && places_.empty() && !over() && may_disturb(); }

  // ---- disturbances at places
  void draw_places() {
    if (!run_.chaos || run_.seen == nullptr || run_.seen->all.size() < kFewPlaces || below(2) == 0) return;
    const std::vector<uint64_t> all(run_.seen->all.begin(), run_.seen->all.end());
    for (uint64_t left = 1 + below(kStops); left != 0; --left)
      places_.push_back(code_begin_ + all[below(all.size())]);
  }

  void stop_at_places(pid_t thread) {
    for (size_t i = 0; i < places_.size(); ++i)
      if (!stop_at(thread, i, places_[i])) places_.clear();  // no such registers here: anywhere then
  }

  // At a place where threads are held, or behind the call that it was let perform.
  void came_to_stop(pid_t thread) {
    Thread& entry = threads_[thread];
    if (entry.state == State::calling) {
      stop_at(thread, 0, 0);
      if (place_of(thread) == entry.back && !over()) {
        entry.state = State::stepping;
        stepped(thread);
        return;
      }
    } else if (entry.state == State::running && threads_.size() > 1 && end_.disturbances < kMostHeld &&
               !over() && may_disturb() && below(4) != 0) {
      hold(thread);
      return;
    }
    go_on(thread);
  }

  static uint64_t place_of(pid_t thread) {
    return static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rip), nullptr));
  }

  void hold(pid_t thread) {
    threads_[thread].state = State::held;
    threads_[thread].until = Clock::now() + microseconds(spread(500, 30'000));
    ++end_.disturbances;
  }

  // ---- disturbances anywhere

  uint64_t below(uint64_t bound) { return random_() % bound; }
  // All orders of magnitude alike.
  uint64_t spread(double from, double to) {
    return static_cast<uint64_t>(from * std::pow(to / from, static_cast<double>(below(1'000'000)) / 1'000'000));
  }

  void go_on(pid_t thread, int signal = 0) {
    threads_[thread].state = State::running;
    ::ptrace(PTRACE_CONT, thread, nullptr, signal);
  }

  void resume(pid_t thread, int signal = 0) {
    const State state = threads_[thread].state;
    if (state == State::stepping)
      ::ptrace(PTRACE_SINGLESTEP, thread, nullptr, signal);
    else if (state == State::calling)
      ::ptrace(PTRACE_CONT, thread, nullptr, signal);
    else
      go_on(thread, signal);
  }

  void step_on(pid_t thread) {
    Thread& entry = threads_[thread];
    entry.state = State::stepping;
    entry.steps = spread(1, 400);
    entry.budget = 1'500;
    entry.in_program = false;
    ::ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr);
  }

  // It is stepped here up to the next system call, which may take its time.
  void stepped(pid_t thread) {
    Thread& entry = threads_[thread];
    while (true) {
      const uint64_t at = place_of(thread);
      const bool was_in_program = std::exchange(entry.in_program, at >= code_begin_ && at < code_end_);
      if (entry.in_program) {
        --entry.steps;
        if (run_.seen != nullptr && run_.seen->all.size() < kMostPlaces)
          run_.seen->all.insert(at - code_begin_);
      }
      if (entry.steps == 0) {
        hold(thread);
        return;
      }
      if (was_in_program && !entry.in_program && steps_over(thread)) return;
      if (--entry.budget == 0 || (entry.budget % 32 == 0 && over())) {  // a long way through libraries
        go_on(thread);
        return;
      }
      const bool calls = (::ptrace(PTRACE_PEEKTEXT, thread, at, nullptr) & 0xffff) == 0x050f;
      ::ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr);
      if (calls) return;
      int status = 0;
      pid_t got = 0;
      do got = ::waitpid(thread, &status, __WALL);
      while (got < 0 && errno == EINTR);
      if (got != thread) return;
      if (!WIFSTOPPED(status)) {
        ended(thread, status);
        return;
      }
      if (status >> 8 != SIGTRAP || !is_step(thread)) {
        stopped(thread, status);
        return;
      }
    }
  }

  // Lets a thread perform what it has called in a library at full speed. False: it has not just called.
  bool steps_over(pid_t thread) {
    const auto stack =
        static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rsp), nullptr));
    const auto back = static_cast<uint64_t>(::ptrace(PTRACE_PEEKTEXT, thread, stack, nullptr));
    if (back < code_begin_ || back >= code_end_ || !stop_at(thread, 0, back)) return false;
    threads_[thread].state = State::calling;
    threads_[thread].back = back;
    ::ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    return true;
  }

  // Lets threads go on whose time is over, stops one now and then. How long to wait for something else.
  microseconds disturb() {
    if (!run_.chaos) return kLook;
    const auto now = Clock::now();
    auto next = now + kLook;
    std::vector<pid_t> running;
    for (auto& [thread, entry] : threads_) {
      if (entry.state == State::held) {
        if (over() || entry.until <= now)
          go_on(thread);
        else
          next = std::min(next, entry.until);
      }
      if (entry.state == State::running) running.push_back(thread);
    }
    const bool more = places_.empty() && !over() && threads_.size() > 1;  // alone it meets nobody
    if (more && now >= next_stop_) {
      next_stop_ = now + microseconds(spread(20, 3000));
      if (!running.empty()) {
        const pid_t thread = running[below(running.size())];
        if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0) threads_[thread].state = State::stopping;
      }
    }
    if (more) next = std::min(next, next_stop_);
    return std::max(microseconds(1), std::chrono::duration_cast<microseconds>(next - now));
  }

  // Of the executable itself.
  void learn_code() {
    std::error_code ignored;
    const std::string own = fs::read_symlink(fmt::format("/proc/{}/exe", pid_), ignored);
    std::ifstream in(fmt::format("/proc/{}/maps", pid_));
    for (std::string line; std::getline(in, line);) {
      unsigned long begin = 0, end = 0;
      char protection[8] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, protection) < 3 || protection[2] != 'x' ||
          !line.ends_with(own))
        continue;
      if (code_end_ == 0) code_begin_ = begin;
      code_end_ = end;
    }
  }

  const WatchedRun& run_;
  std::mt19937_64 random_;
  const Clock::time_point begin_;
  const ChildSignal signal_;
  pid_t pid_ = 0;
  std::optional<StalledProcess> stalled_;
  std::map<pid_t, Thread> threads_;
  Clock::time_point next_stop_;
  uint64_t code_begin_ = 0, code_end_ = 0;
  const bool several_ = below(4) == 0;
  std::vector<uint64_t> places_;  // where threads are held; empty: anywhere
  static constexpr size_t kFewPlaces = 16, kMostPlaces = 100'000;
  static constexpr uint64_t kMostHeld = 64;  // a place in a loop is come to again and again
  bool done_ = false;
  WatchedEnd end_;
  std::optional<Error> failed_;
};

}  // namespace

Result<WatchedEnd> run_watched(const WatchedRun& run) {
  return Watch(run).go();
}

}  // namespace heddle
