#include "pt/waited_process.h"

#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace heddle {
namespace {

volatile sig_atomic_t time_is_over = 0;

void note_time(int) {
  time_is_over = 1;
}

void set_alarm(std::chrono::milliseconds after) {
  struct sigaction action{};
  action.sa_handler = note_time;  // without SA_RESTART: waitpid comes back
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = after.count() / 1000;
  timer.it_value.tv_usec = after.count() % 1000 * 1000;
  timer.it_interval.tv_usec = 100'000;  // should it come just before waitpid
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);  // if it is allowed
  ::execvp(words[0], words.data());
  std::fprintf(stderr, "heddle: %s cannot be started: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

void look_at_death(pid_t tid, TracedEnd& end) {
  end.failed_tid = tid;
  end.fault_pc =
      static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, tid, offsetof(user_regs_struct, rip), nullptr));
  siginfo_t info{};
  if (::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) == 0 && info.si_code > 0)
    end.fault_address = reinterpret_cast<uint64_t>(info.si_addr);
}

}  // namespace

SignalEffect effect_of_signal(int pid, int signal) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);) {
    uint64_t mask = 0;
    const auto holds = [&](const char* format) {
      return std::sscanf(line.c_str(), format, &mask) == 1 && (mask >> (signal - 1) & 1) != 0;
    };
    if (holds("SigCgt: %lx")) return SignalEffect::caught;
    if (holds("SigIgn: %lx")) return SignalEffect::none;
  }
  const bool harmless = signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT ||
                        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  return harmless ? SignalEffect::none : SignalEffect::deadly;
}

Result<TracedEnd> run_and_wait(const std::vector<std::string>& command,
                               std::optional<std::chrono::milliseconds> time_limit) {
  const pid_t pid = ::fork();
  if (pid < 0) return Error{.what = "no process can be made", .why = std::strerror(errno)};
  if (pid == 0) become(command);
  if (time_limit) set_alarm(*time_limit);
  TracedEnd end{.pid = pid};
  bool started = false;
  while (true) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL);
    if (tid < 0 && errno == EINTR) {
      if (time_is_over != 0 && !end.timed_out) {
        end.timed_out = true;
        ::kill(pid, SIGKILL);
      }
      continue;
    }
    if (tid < 0) return Error{.what = "the process is gone", .why = std::strerror(errno)};
    if (!WIFSTOPPED(status)) {
      if (tid != pid) continue;
      end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      return end;
    }
    int signal = WSTOPSIG(status);
    if (!started && tid == pid && signal == SIGTRAP) {  // the program was loaded
      started = true;
      ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACECLONE);
      signal = 0;
    } else if (status >> 16 != 0 || (signal == SIGSTOP && tid != pid)) {  // a thread was made, and begins
      signal = 0;
    } else if (effect_of_signal(pid, signal) == SignalEffect::deadly && end.failed_tid == 0 && !end.timed_out) {
      look_at_death(tid, end);
    }
    ::ptrace(PTRACE_CONT, tid, nullptr, static_cast<long>(signal));
  }
}

}  // namespace heddle
