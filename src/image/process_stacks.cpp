#include "image/process_stacks.h"

#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::microseconds kPatience = std::chrono::seconds(2), kPause(50);

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code code;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/task", code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) threads.push_back(thread);
  }
  std::ranges::sort(threads);
  return threads;
}

// What waitid() tells of a thread within the time; nothing: it has ended, or does not come out of the kernel.
// The end of the process itself (its leader's) is left for whoever started it.
std::optional<siginfo_t> wait_for(pid_t thread, pid_t leader, int what) {
  if (thread != leader) what |= WEXITED;
  for (auto waited = std::chrono::microseconds(0); waited < kPatience; waited += kPause) {
    siginfo_t told{};
    if (::waitid(P_PID, static_cast<id_t>(thread), &told, what | WNOHANG | __WALL) != 0 && errno != EINTR)
      return std::nullopt;
    if (told.si_pid == thread) return told;
    ::usleep(kPause.count());
  }
  return std::nullopt;
}

// Waits until the thread stands still. The signal that it was about to get, 0 for none; nothing: it does not
// stand.
std::optional<int> wait_stopped(pid_t thread, pid_t leader) {
  const std::optional<siginfo_t> told = wait_for(thread, leader, WSTOPPED);
  if (!told || (told->si_code != CLD_TRAPPED && told->si_code != CLD_STOPPED)) return std::nullopt;
  return told->si_status >> 8 == PTRACE_EVENT_STOP ? 0 : told->si_status & 0x7f;
}

const Dwfl_Callbacks* callbacks() {
  // Where separate debug information would lie: it is not needed to unwind, and looking for it takes time.
  static const Dwfl_Callbacks table = {
      .find_elf = dwfl_linux_proc_find_elf,
      .find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                           char**) -> int { return -1; },
      .section_address = nullptr,
      .debuginfo_path = nullptr};
  return &table;
}

struct Walk {
  Dwfl* dwfl;
  size_t depth;
  std::vector<ProcessFrame> frames;
};

ProcessFrame frame_at(Dwfl* dwfl, uint64_t pc, bool exact) {
  ProcessFrame frame{.pc = pc, .exact = exact};
  // A return address may be the first one behind its function.
  const uint64_t inside = exact ? pc : pc - 1;
  Dwfl_Module* module = dwfl_addrmodule(dwfl, inside);
  if (module == nullptr) return frame;
  Dwarf_Addr bias = 0;
  dwfl_module_getelf(module, &bias);
  frame.module_base = bias;
  const char* file = nullptr;  // known when the file has been opened
  const char* module_name =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &file, nullptr);
  frame.module = file != nullptr ? file : module_name;
  if (const char* name = dwfl_module_addrname(module, inside); name != nullptr) frame.symbol = name;
  return frame;
}

int take_frame(Dwfl_Frame* state, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  Dwarf_Addr pc = 0;
  bool exact = false;
  if (!dwfl_frame_pc(state, &pc, &exact) || pc == 0) return DWARF_CB_ABORT;
  walk.frames.push_back(frame_at(walk.dwfl, pc, exact));
  return walk.frames.size() < walk.depth ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

struct StoppedProcess::Data {
  pid_t pid = 0;
  std::vector<pid_t> threads;
  std::vector<int> signals;  // that they are to get when they go on

  ~Data() {
    for (size_t i = 0; i < threads.size(); ++i) {
      // Threads that were killed meanwhile are ours to bury: before that, nobody sees the end of the process.
      if (::ptrace(PTRACE_DETACH, threads[i], nullptr, static_cast<long>(signals[i])) != 0 && threads[i] != pid)
        wait_for(threads[i], pid, WEXITED);
    }
  }
};

StoppedProcess::StoppedProcess(std::unique_ptr<Data> data) : data_(std::move(data)) {}
StoppedProcess::StoppedProcess(StoppedProcess&&) noexcept = default;
StoppedProcess::~StoppedProcess() = default;

Result<StoppedProcess> StoppedProcess::stop(pid_t pid) {
  auto data = std::make_unique<Data>();
  data->pid = pid;
  std::set<pid_t> seen;
  int refused = 0;
  // Threads may be made while others are being stopped: again until no new one is there.
  for (bool more = true; more;) {
    more = false;
    for (const pid_t thread : threads_of(pid)) {
      if (!seen.insert(thread).second) continue;
      more = true;
      if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
        if (errno != ESRCH) refused = errno;
        continue;
      }
      if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) continue;
      if (const std::optional<int> signal = wait_stopped(thread, pid)) {
        data->threads.push_back(thread);
        data->signals.push_back(*signal);
      }
    }
  }
  if (data->threads.empty()) {
    errno = refused != 0 ? refused : ESRCH;
    Error error = system_error("the threads of the program cannot be stopped", "ptrace(PTRACE_SEIZE)");
    if (refused == EPERM) error.next = "heddle doctor  (says what forbids it)";
    return error;
  }
  return StoppedProcess(std::move(data));
}

const std::vector<pid_t>& StoppedProcess::threads() const {
  return data_->threads;
}

uint64_t StoppedProcess::pc_of(pid_t thread) const {
  user_regs_struct registers{};
  return ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 ? registers.rip : 0;
}

uint64_t StoppedProcess::stack_pointer_of(pid_t thread) const {
  user_regs_struct registers{};
  return ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 ? registers.rsp : 0;
}

size_t StoppedProcess::read(uint64_t address, void* bytes, size_t size) const {
  const iovec here{bytes, size}, there{reinterpret_cast<void*>(address), size};
  const ssize_t got = ::process_vm_readv(data_->pid, &here, 1, &there, 1, 0);
  return got < 0 ? 0 : static_cast<size_t>(got);
}

std::map<pid_t, std::vector<ProcessFrame>> StoppedProcess::stacks(size_t depth) const {
  std::map<pid_t, std::vector<ProcessFrame>> stacks;
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl(dwfl_begin(callbacks()), dwfl_end);
  if (dwfl == nullptr || dwfl_linux_proc_report(dwfl.get(), data_->pid) != 0 ||
      dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0 ||
      dwfl_linux_proc_attach(dwfl.get(), data_->pid, /*assume_ptrace_stopped=*/true) != 0)
    return stacks;
  for (const pid_t thread : data_->threads) {
    Walk walk{.dwfl = dwfl.get(), .depth = depth, .frames = {}};
    dwfl_getthread_frames(dwfl.get(), thread, take_frame, &walk);
    // Without a single frame at least the place itself is known.
    if (const uint64_t pc = pc_of(thread); walk.frames.empty() && pc != 0)
      walk.frames.push_back(frame_at(dwfl.get(), pc, true));
    stacks[thread] = std::move(walk.frames);
  }
  return stacks;
}

}  // namespace heddle
