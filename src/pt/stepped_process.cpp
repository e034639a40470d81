#include "pt/stepped_process.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "pt/processor_pin.h"

namespace heddle {
namespace {

constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;

constexpr unsigned long kCallBegins = 1;  // PTRACE_EVENTMSG_SYSCALL_ENTRY

Error cannot(const std::string& what, const std::string& where) {
  Error out = system_error(what, where);
  out.next = "heddle doctor tells whether ptrace is allowed here";
  return out;
}

}  // namespace

SteppedProcess::SteppedProcess(SteppedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      executable_(std::move(other.executable_)),
      code_(std::move(other.code_)),
      registers_(std::move(other.registers_)),
      pin_(std::move(other.pin_)) {}

SteppedProcess::~SteppedProcess() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  // Each thread stops once more on its way out.
  int status = 0;
  for (pid_t tid = 0; (tid = ::waitpid(-pid_, &status, __WALL)) > 0;)
    if (WIFSTOPPED(status)) ::ptrace(PTRACE_CONT, tid, nullptr, nullptr);
}

Result<SteppedProcess> SteppedProcess::start(const std::vector<std::string>& command,
                                             const std::string& input) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  SteppedProcess out;
  out.pin_ = std::make_shared<ProcessorPin>();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot make a process", command[0]);
  if (pid == 0) {
    ::setpgid(0, 0);
    if (!input.empty()) {
      const int file = ::open(input.c_str(), O_RDONLY);
      if (file < 0 || ::dup2(file, 0) < 0) std::_Exit(127);
      ::close(file);
    }
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) std::_Exit(126);
    ::execv(argv[0], argv.data());
    std::_Exit(127);
  }
  out.pid_ = pid;
  int status = 0;
  if (::waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
    out.pid_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
      return Error{.what = "the program cannot be stepped: ptrace is not allowed here",
                   .where = command[0],
                   .next = "heddle doctor"};
    return Error{.what = "the program cannot be started", .where = command[0]};
  }
  if (::ptrace(PTRACE_SETOPTIONS, pid, nullptr, kOptions) != 0)
    return cannot("the program cannot be stepped", command[0]);
  std::error_code ignored;
  out.executable_ = fs::read_symlink(fmt::format("/proc/{}/exe", pid), ignored);
  HEDDLE_TRY(out.run_to_entry());
  return out;
}

// The auxiliary vector says where the entry point and the vDSO are.
Result<void> SteppedProcess::run_to_entry() {
  user_regs_struct regs{};
  ::ptrace(PTRACE_GETREGS, pid_, nullptr, &regs);
  uint64_t at = regs.rsp, word = 0;
  const auto next = [&] {
    if (read(at, &word, 8) != 8) word = 0;
    at += 8;
    return word;
  };
  at += 8 * (next() + 1);  // argc, arguments and their end
  while (next() != 0) {    // environment
  }
  uint64_t entry = 0;
  while (true) {
    const uint64_t key = next(), where = at, value = next();
    if (key == AT_NULL) break;
    if (key == AT_ENTRY) entry = value;
    if (key == AT_SYSINFO_EHDR) ::ptrace(PTRACE_POKEDATA, pid_, where - 8, AT_IGNORE);
  }
  errno = 0;
  const long code = ::ptrace(PTRACE_PEEKTEXT, pid_, entry, nullptr);
  if (entry == 0 || errno != 0) return cannot("the program's entry point cannot be found", executable_);
  ::ptrace(PTRACE_POKETEXT, pid_, entry, (code & ~0xffl) | 0xcc);
  while (true) {
    ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    int status = 0;
    if (::waitpid(pid_, &status, __WALL) != pid_ || !WIFSTOPPED(status)) {
      pid_ = 0;
      return Error{.what = "the program ended before its first instruction",
                   .where = executable_,
                   .why = "a shared library is missing, most likely"};
    }
    ::ptrace(PTRACE_GETREGS, pid_, nullptr, &regs);
    if (WSTOPSIG(status) == SIGTRAP && regs.rip == entry + 1) break;
  }
  ::ptrace(PTRACE_POKETEXT, pid_, entry, code);
  regs.rip = entry;
  ::ptrace(PTRACE_SETREGS, pid_, nullptr, &regs);
  return {};
}

void SteppedProcess::prepare(pid_t tid) {
  Registers& registers = registers_[tid];
  if (registers.changed) ::ptrace(PTRACE_SETREGS, tid, nullptr, &registers.values);
  registers.known = registers.changed = false;
}

void SteppedProcess::step(pid_t tid, int signal) {
  prepare(tid);
  ::ptrace(PTRACE_SINGLESTEP, tid, nullptr, signal);
}
void SteppedProcess::run(pid_t tid, int signal) {
  prepare(tid);
  ::ptrace(PTRACE_SYSCALL, tid, nullptr, signal);
}
void SteppedProcess::go_on(pid_t tid, int signal) {
  prepare(tid);
  ::ptrace(PTRACE_CONT, tid, nullptr, signal);
}

void SteppedProcess::halt(pid_t tid) const {
  ::syscall(SYS_tgkill, pid_, tid, SIGSTOP);
}

void SteppedProcess::pin(pid_t tid, bool pinned) const {
  pin_->apply(tid, pinned);
}

std::optional<SteppedProcess::Stop> SteppedProcess::wait(pid_t tid, bool block) {
  int status = 0;
  const pid_t which = ::waitpid(tid == -1 ? -pid_ : tid, &status, __WALL | (block ? 0 : WNOHANG));
  if (which <= 0) return std::nullopt;
  Stop out{.tid = which};
  if (!WIFSTOPPED(status)) {
    out.kind = Stop::Kind::ended;
    out.number = status;
    registers_.erase(which);
    return out;
  }
  const int event = status >> 16, signal = WSTOPSIG(status);
  unsigned long message = 0;
  if (event != 0 || signal == (SIGTRAP | 0x80)) ::ptrace(PTRACE_GETEVENTMSG, which, nullptr, &message);
  if (signal == (SIGTRAP | 0x80)) {
    out.kind = message == kCallBegins ? Stop::Kind::enters_call : Stop::Kind::leaves_call;
  } else if (event == PTRACE_EVENT_CLONE) {
    out.kind = Stop::Kind::cloned;
    out.number = static_cast<int64_t>(message);
  } else if (event == PTRACE_EVENT_EXIT) {
    out.kind = Stop::Kind::exiting;
    out.number = static_cast<int64_t>(message);
  } else if (event != 0) {
    out.kind = Stop::Kind::other;
  } else if (signal == SIGTRAP) {
    out.kind = Stop::Kind::stepped;
  } else {
    out.kind = Stop::Kind::signal;
    out.number = signal;
  }
  return out;
}

// Whoever waits is woken again and again: the time may be over before the wait begins.
std::optional<SteppedProcess::Stop> SteppedProcess::wait_for(pid_t tid, std::chrono::milliseconds time) {
  struct sigaction wake{}, before{};
  wake.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &wake, &before);
  sigevent to_me{};
  to_me.sigev_notify = SIGEV_THREAD_ID;
  to_me.sigev_signo = SIGALRM;
  to_me._sigev_un._tid = ::gettid();
  timer_t timer{};
  const bool timed = ::timer_create(CLOCK_MONOTONIC, &to_me, &timer) == 0;
  const timespec period{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  const itimerspec again{.it_interval = period, .it_value = period};
  if (timed) ::timer_settime(timer, 0, &again, nullptr);
  std::optional<Stop> out = wait(tid, timed);
  if (timed) ::timer_delete(timer);
  ::sigaction(SIGALRM, &before, nullptr);
  return out;
}

const user_regs_struct& SteppedProcess::registers(pid_t tid) {
  Registers& registers = registers_[tid];
  if (!registers.known) ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers.values);
  registers.known = true;
  return registers.values;
}

void SteppedProcess::set_registers(pid_t tid, const user_regs_struct& registers) {
  registers_[tid] = {.values = registers, .known = true, .changed = true};
}

std::optional<std::pair<uint64_t, int>> SteppedProcess::fault(pid_t tid) const {
  siginfo_t info{};
  if (::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) != 0) return std::nullopt;
  return std::pair(reinterpret_cast<uint64_t>(info.si_addr), info.si_code);
}

size_t SteppedProcess::read(uint64_t address, void* bytes, size_t size) const {
  iovec to{bytes, size}, from{reinterpret_cast<void*>(address), size};
  ssize_t count = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
  if (count < 0) {  // the next page may be missing
    const size_t first = std::min<size_t>(size, 4096 - address % 4096);
    to.iov_len = from.iov_len = first;
    count = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
  }
  return count < 0 ? 0 : static_cast<size_t>(count);
}

size_t SteppedProcess::write(uint64_t address, const void* bytes, size_t size) const {
  iovec from{const_cast<void*>(bytes), size}, to{reinterpret_cast<void*>(address), size};
  const ssize_t count = ::process_vm_writev(pid_, &from, 1, &to, 1, 0);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

const BranchInstruction& SteppedProcess::instruction(uint64_t ip) {
  const auto [found, added] = code_.try_emplace(ip);
  if (added) {
    uint8_t bytes[16] = {};
    const size_t size = read(ip, bytes, sizeof bytes);
    found->second = classify_instruction({bytes, size});
  }
  return found->second;
}

std::vector<PerfMapping> SteppedProcess::mappings() const {
  std::ifstream in(fmt::format("/proc/{}/maps", pid_));
  std::vector<PerfMapping> out;
  for (std::string line; std::getline(in, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    char protection[8] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, protection, &offset, &name) < 4)
      continue;
    if (protection[2] != 'x') continue;
    out.push_back(
        {.pid = static_cast<uint32_t>(pid_),
         .tid = static_cast<uint32_t>(pid_),
         .begin = begin,
         .size = end - begin,
         .file_offset = offset,
         .protection = 5,
         .executable = true,
         .file = static_cast<size_t>(name) < line.size() ? line.substr(static_cast<size_t>(name)) : "//anon"});
  }
  return out;
}

}  // namespace heddle
