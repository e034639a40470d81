#include "replay/target.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <sstream>

#include "abi/control.h"

namespace heddle {
namespace {

// Numbers that hardly any program uses itself; all but the memory file's are closed when it starts.
constexpr int kMemoryFile = 1000;
constexpr int kExecutableFile = 999;
constexpr int kReportFile = 998;  // tells heddle why a start failed

std::vector<char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Everything that become_target needs, made before fork(): afterwards only system calls are allowed.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv, envp;
  std::string folder, executable;

  explicit Prepared(const TargetSpec& spec)
      : environment(spec.environment),
        argv(c_strings(spec.argv)),
        folder(spec.folder),
        executable(spec.executable) {
    environment.push_back(fmt::format("{}={}", HEDDLE_CONTROL_VARIABLE, kMemoryFile));
    envp = c_strings(environment);
  }
};

enum class Stage : int { folder, memory_file, randomisation, executable, execute };

// Returns the stage that failed; errno says why.
Stage become(const Prepared& target, int memory_file) {
  // All signals as they are by default: heddle's parent may have had some ignored or blocked.
  for (int signal = 1; signal < SIGRTMAX; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::chdir(target.folder.c_str()) != 0) return Stage::folder;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur <= kMemoryFile) {
    files.rlim_cur = std::min<rlim_t>(kMemoryFile + 1, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (memory_file != kMemoryFile && ::dup2(memory_file, kMemoryFile) < 0) return Stage::memory_file;
  ::fcntl(kMemoryFile, F_SETFD, 0);
  if (::personality(ADDR_NO_RANDOMIZE) < 0) return Stage::randomisation;
  const int opened = ::open(target.executable.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0 || ::dup3(opened, kExecutableFile, O_CLOEXEC) < 0) return Stage::executable;
  // close_range(2) of glibc needs a newer one than some systems have: the system call itself.
  ::syscall(SYS_close_range, 3u, kReportFile - 1u, 0u);
  ::syscall(SYS_close_range, kMemoryFile + 1u, ~0u, 0u);
  ::syscall(SYS_execveat, kExecutableFile, "", target.argv.data(), target.envp.data(), AT_EMPTY_PATH);
  return Stage::execute;
}

Error cannot_become(Stage stage, int code, const TargetSpec& spec) {
  errno = code;
  switch (stage) {
    case Stage::folder:
      return system_error("cannot enter the folder of the program", spec.folder);
    case Stage::memory_file: {
      Error error = system_error(fmt::format("cannot open descriptor {} in the program", kMemoryFile), "");
      error.next = fmt::format("ulimit -n {}", kMemoryFile + 24);
      return error;
    }
    case Stage::randomisation: {
      Error error =
          system_error("cannot switch address space randomisation off", "personality(ADDR_NO_RANDOMIZE)");
      error.why = "containers often forbid it";
      error.next = "docker run --security-opt seccomp=unconfined ...";
      return error;
    }
    case Stage::executable:
    case Stage::execute:
      break;
  }
  return system_error("cannot start the program", spec.executable);
}

void pump(int from, int to, int stop) {
  char buffer[65536];
  pollfd waiting[2] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
  while (true) {
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if ((waiting[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) {
      if ((waiting[1].revents & POLLIN) != 0) return;  // nothing more is in the pipe
      continue;
    }
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::write(to, buffer + done, static_cast<size_t>(got - done));
      if (n < 0 && errno != EINTR) return;
      if (n > 0) done += n;
    }
  }
}

// Empty when the process is gone, also between opening and reading.
std::string read_proc(const std::string& path) {
  std::string text(4096, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? 0 : ::read(file, text.data(), text.size());
  if (file >= 0) ::close(file);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// The fields of a stat file behind the name, which may hold anything.
std::istringstream stat_fields(const std::string& path) {
  const std::string text = read_proc(path);
  const size_t name_end = text.rfind(')');
  return std::istringstream(name_end == std::string::npos ? std::string() : text.substr(name_end + 1));
}

// utime and stime of /proc/PID/stat.
uint64_t ticks_of(const std::string& pid) {
  std::istringstream fields = stat_fields("/proc/" + pid + "/stat");
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  uint64_t user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

// Whether a thread has the processor, waits for it (R), or for a disk (D).
bool runnable(const std::string& pid) {
  const std::string tasks = "/proc/" + pid + "/task";
  std::error_code gone;
  for (std::filesystem::directory_iterator at(tasks, gone), end; !gone && at != end; at.increment(gone)) {
    std::string state;
    stat_fields(at->path() / "stat") >> state;
    if (state == "R" || state == "D") return true;
  }
  std::istringstream children(read_proc(tasks + "/" + pid + "/children"));
  for (std::string child; children >> child;)
    if (runnable(child)) return true;
  return false;
}

// Snapshots have children of their own.
uint64_t ticks_with_children(const std::string& pid) {
  uint64_t ticks = ticks_of(pid);
  std::istringstream children(read_proc("/proc/" + pid + "/task/" + pid + "/children"));
  for (std::string child; children >> child;) ticks += ticks_with_children(child);
  return ticks;
}

}  // namespace

std::vector<std::string> standard_environment() {
  return {"HOME=/nonexistent", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "TZ=UTC"};
}

std::vector<std::string> controlled_environment(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> by_name;
  const auto set = [&](const std::string& setting) { by_name[setting.substr(0, setting.find('='))] = setting; };
  for (const std::string& setting : standard_environment()) set(setting);
  for (const std::string& setting : settings) set(setting);
  std::vector<std::string> out;
  for (auto& [name, setting] : by_name) out.push_back(std::move(setting));
  return out;
}

std::string TargetSpec::bytes() const {
  std::string out;
  const auto add = [&](const std::string& text) { out.append(text).push_back('\0'); };
  add(executable);
  add(folder);
  add(input);
  add(std::to_string(argv.size()));
  for (const std::string& text : argv) add(text);
  for (const std::string& text : environment) add(text);
  return out;
}

Result<TargetSpec> TargetSpec::parse(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\0'), bytes.size() - 1);
    texts.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  size_t words = 0;
  if (texts.size() >= 4) std::from_chars(texts[3].data(), texts[3].data() + texts[3].size(), words);
  if (words == 0 || words > texts.size() - 4) return Error{.what = "this does not say what to start"};
  const auto argv = texts.begin() + 4, environment = argv + static_cast<ptrdiff_t>(words);
  return TargetSpec{.executable = texts[0],
                    .argv = {argv, environment},
                    .environment = {environment, texts.end()},
                    .folder = texts[1],
                    .input = texts[2]};
}

Error become_target(const TargetSpec& spec, int memory_file) {
  const Prepared prepared(spec);
  const Stage stage = become(prepared, memory_file);
  return cannot_become(stage, errno, spec);
}

Result<Target> Target::start(const TargetSpec& spec, const TargetStreams& streams, int memory_file) {
  const Prepared prepared(spec);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int failure[2];
  if (null < 0) return system_error("cannot open /dev/null", "");
  if (::pipe2(failure, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "");

  // Where the program's standard output and error go.
  int outputs[2] = {null, null};
  std::vector<int> ours = {null};
  std::vector<Pump> pumps;
  if (streams.output != TargetOutput::discard) {
    for (int i = 0; i < 2; ++i) {
      const int own = streams.output == TargetOutput::show_apart ? 2 : i + 1;
      int pipe[2];
      if (::isatty(own) == 0) {
        outputs[i] = own;
      } else if (::pipe2(pipe, O_CLOEXEC) == 0) {
        outputs[i] = pipe[1];
        ours.push_back(pipe[1]);
        pumps.push_back({.from = pipe[0], .to = own, .stop = ::eventfd(0, EFD_CLOEXEC)});
      }
    }
  }
  const int input = streams.input >= 0 ? streams.input : null;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return system_error("cannot start a process", "");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // heddle died before the line above
    if (streams.own_group) ::setpgid(0, 0);
    ::dup2(input, 0);
    // The order matters when standard error is to be used for both.
    const int first = ::fcntl(outputs[0], F_DUPFD, 10), second = ::fcntl(outputs[1], F_DUPFD, 10);
    ::dup2(first, 1);
    ::dup2(second, 2);
    ::dup3(failure[1], kReportFile, O_CLOEXEC);
    const Stage stage = become(prepared, memory_file);
    const int told[2] = {static_cast<int>(stage), errno};
    [[maybe_unused]] const ssize_t ignored = ::write(kReportFile, told, sizeof told);
    ::_exit(127);
  }
  if (streams.own_group) ::setpgid(child, child);
  for (const int fd : ours) ::close(fd);
  ::close(failure[1]);
  int told[2];
  ssize_t got;
  do got = ::read(failure[0], told, sizeof told);
  while (got < 0 && errno == EINTR);
  ::close(failure[0]);
  Target target(child, streams.own_group);
  for (Pump& p : pumps) {
    p.thread = std::thread(pump, p.from, p.to, p.stop);
    target.pumps_.push_back(std::move(p));
  }
  if (got == sizeof told) return cannot_become(static_cast<Stage>(told[0]), told[1], spec);
  return target;
}

Target::Target(Target&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      own_group_(other.own_group_),
      status_(other.status_),
      pumps_(std::move(other.pumps_)) {
  other.pumps_.clear();
}

Target::~Target() {
  kill();
  finish_output();
}

std::optional<int> Target::ended() {
  int status = 0;
  if (pid_ > 0 && !status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void Target::kill() {
  if (pid_ <= 0) return;
  // The group may hold children of an ended program too.
  if (own_group_) ::kill(-pid_, SIGKILL);
  if (!status_) {
    ::kill(pid_, SIGKILL);
    int status = 0;
    pid_t got;
    do got = ::waitpid(pid_, &status, 0);
    while (got < 0 && errno == EINTR);
    status_ = got == pid_ ? status : 0;
  }
}

void Target::finish_output() {
  for (Pump& p : pumps_) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(p.stop, &one, sizeof one);
    p.thread.join();
    ::close(p.from);
    ::close(p.stop);
  }
  pumps_.clear();
}

uint64_t Target::processor_time() const {
  return ticks_with_children(std::to_string(pid_));
}

bool Target::runs() const {
  return runnable(std::to_string(pid_));
}

}  // namespace heddle
