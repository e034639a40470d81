#include "driver/record_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "driver/stalled_process.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook(2);  // between two looks at the process file
constexpr milliseconds kFinishSegments(
    20);                              // other threads go on so long after a failure: they finish their segments
constexpr milliseconds kGrace(1000);  // for a program that ends in order when it is interrupted

std::vector<char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Of the folder's name and what fills up to it: stacks begin below the environment.
constexpr size_t kFilledUp = 4096;

std::vector<std::string> environment_with(const RunSpec& spec) {
  const std::string name = std::string(HEDDLE_RECORD_FOLDER) + "=", filler = "HEDDLE_FILLER=";
  std::vector<std::string> given;
  if (spec.environment)
    given = *spec.environment;
  else
    for (char** at = environ; *at != nullptr; ++at) given.emplace_back(*at);
  std::vector<std::string> out;
  for (std::string& variable : given)
    if (!variable.starts_with(name) && !variable.starts_with(filler)) out.push_back(std::move(variable));
  out.push_back(name + spec.folder.string());
  if (spec.fixed_addresses) {
    const size_t length = spec.folder.string().size();
    out.push_back(filler + std::string(kFilledUp - std::min(length, kFilledUp), '.'));
  }
  return out;
}

// The program as a child of ours; dies with us.
class Child {
 public:
  static Result<Child> start(const RunSpec& spec) {
    const std::vector<std::string> environment = environment_with(spec);
    const std::vector<char*> argv = c_strings(spec.command), envp = c_strings(environment);
    // Tells why exec failed; a successful one closes it.
    int failure[2];
    if (::pipe2(failure, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "");
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error("cannot start the program", spec.executable);
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      bool ready = !spec.output_to_error || ::dup2(2, 1) == 1;
      if (spec.output >= 0) ready = ready && ::dup2(spec.output, 1) == 1 && ::dup2(spec.output, 2) == 2;
      if (spec.fixed_addresses) ::personality(ADDR_NO_RANDOMIZE);
      if (!spec.working_folder.empty()) ready = ready && ::chdir(spec.working_folder.c_str()) == 0;
      if (spec.no_output) {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ready = ready && nowhere >= 0 && ::dup2(nowhere, 1) == 1 && ::dup2(nowhere, 2) == 2;
      }
      if (spec.input >= 0) {
        // Opened anew: each run has a position of its own in the file.
        char name[32] = "/proc/self/fd/";
        char* to = name + 14;
        char digits[12];
        int count = 0;
        for (int rest = spec.input; count == 0 || rest != 0; rest /= 10)
          digits[count++] = static_cast<char>('0' + rest % 10);
        while (count > 0) *to++ = digits[--count];
        *to = 0;
        const int input = ::open(name, O_RDONLY);
        ready = ready && input >= 0 && ::dup2(input, 0) == 0;
        if (input > 0) ::close(input);
      }
      if (ready) ::execve(spec.executable.c_str(), argv.data(), envp.data());
      const int code = errno;
      [[maybe_unused]] const ssize_t ignored = ::write(failure[1], &code, sizeof code);
      ::_exit(127);
    }
    ::close(failure[1]);
    int code = 0;
    ssize_t told;
    do told = ::read(failure[0], &code, sizeof code);
    while (told < 0 && errno == EINTR);
    ::close(failure[0]);
    if (told == sizeof code) {
      int status = 0;
      ::waitpid(pid, &status, 0);
      errno = code;
      return system_error("cannot start the program", spec.executable);
    }
    return Child(pid, static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }

  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)), file_(std::exchange(other.file_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (file_ >= 0) ::close(file_);
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t pid() const { return pid_; }

  // Waits for the end of the process for at most this time.
  std::optional<int> wait(milliseconds time) {
    pollfd waiting{file_, POLLIN, 0};
    ::poll(&waiting, file_ < 0 ? 0 : 1, static_cast<int>(time.count()));
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_ || !(WIFEXITED(status) || WIFSIGNALED(status)))
      return std::nullopt;
    pid_ = 0;
    return status;
  }

  int wait_after(int signal, milliseconds grace) {
    ::kill(pid_, signal);
    const auto end = Clock::now() + grace;
    while (Clock::now() < end)
      if (const std::optional<int> status = wait(kLook)) return *status;
    ::kill(pid_, SIGKILL);
    while (true)
      if (const std::optional<int> status = wait(kLook)) return *status;
  }

 private:
  Child(pid_t pid, int file) : pid_(pid), file_(file) {}
  pid_t pid_;
  int file_;  // pidfd; -1 on old kernels
};

void note_status(int status, RunEnd& end) {
  if (WIFSIGNALED(status)) {
    end.status.signal = WTERMSIG(status);
    end.core_dumped = WCOREDUMP(status);
  } else {
    end.status.exit_code = WEXITSTATUS(status);
  }
}

}  // namespace

Result<RunEnd> run_recorded(const RunSpec& spec, ProcessFile& process) {
  const auto begin = Clock::now();
  Child child = HEDDLE_TRY(Child::start(spec));
  RunEnd end{.pid = child.pid()};
  const auto finish = [&](RunEnd::Kind kind, int status) {
    end.kind = kind;
    end.duration = Clock::now() - begin;
    note_status(status, end);
    return end;
  };
  bool seen = false;
  StalledProcess stalled(child.pid());
  while (true) {
    if (const std::optional<int> status = child.wait(kLook)) {
      if (const std::string why = process.copy().refused; !why.empty())
        return Error{.what = "the run had to be ended", .where = spec.command.front(), .why = why};
      // Ctrl-C in a terminal reaches the program as well.
      return finish(interrupted() ? RunEnd::Kind::interrupted : RunEnd::Kind::ended, *status);
    }
    if (!seen && process.failed()) {
      seen = true;
      ::usleep(std::chrono::microseconds(kFinishSegments).count());
      end.capture = capture_process(child.pid(), spec.folder);
      process.mark_failure_seen();
    }
    if (interrupted()) {
      if (!end.capture) end.capture = capture_process(child.pid(), spec.folder);
      return finish(RunEnd::Kind::interrupted, child.wait_after(SIGINT, kGrace));
    }
    const auto now = Clock::now();
    const bool hangs = spec.hang_timeout && now - begin >= *spec.hang_timeout;
    if (hangs || stalled.look()) {
      if (!end.capture) end.capture = capture_process(child.pid(), spec.folder);
      const RunEnd::Kind kind = hangs ? RunEnd::Kind::hang : RunEnd::Kind::stalled;
      return finish(seen ? RunEnd::Kind::ended : kind, child.wait_after(SIGKILL, kGrace));
    }
    if (spec.deadline && now >= *spec.deadline)
      return finish(seen ? RunEnd::Kind::ended : RunEnd::Kind::out_of_time, child.wait_after(SIGKILL, kGrace));
  }
}

}  // namespace heddle
