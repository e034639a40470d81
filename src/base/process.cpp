#include "base/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle {
namespace {

std::vector<char*> c_argv(const std::vector<std::string>& argv) {
  std::vector<char*> out;
  for (const std::string& arg : argv) out.push_back(const_cast<char*>(arg.c_str()));
  out.push_back(nullptr);
  return out;
}

Error cannot_run(const std::string& program) {
  Error error = system_error("cannot run " + program, "");
  if (errno == ENOENT) error.next = "heddle doctor  (shows which tools are missing)";
  return error;
}

}  // namespace

Result<ProcessEnd> run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  HEDDLE_CHECK(!argv.empty());
  // The child reports a failed exec through `failure`, which a successful exec closes.
  int failure[2], output[2] = {-1, -1};
  if (::pipe2(failure, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "");
  const bool capture = options.output == ProcessOptions::Output::capture;
  if (capture && ::pipe2(output, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "");

  std::vector<char*> args = c_argv(argv);
  const pid_t child = ::fork();
  if (child < 0) return system_error("cannot start " + argv[0], "");
  if (child == 0) {
    if (capture) ::dup2(output[1], 1), ::dup2(output[1], 2);
    bool ready = options.folder.empty() || ::chdir(options.folder.c_str()) == 0;
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (ready) ::execvp(args[0], args.data());
    const int code = errno;
    [[maybe_unused]] ssize_t ignored = ::write(failure[1], &code, sizeof code);
    ::_exit(127);
  }

  ::close(failure[1]);
  ProcessEnd end;
  if (capture) {
    ::close(output[1]);
    char buffer[65536];
    while (true) {
      const ssize_t n = ::read(output[0], buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      end.output.append(buffer, static_cast<size_t>(n));
    }
    ::close(output[0]);
  }
  int code = 0, status = 0;
  ssize_t told;
  do told = ::read(failure[0], &code, sizeof code);
  while (told < 0 && errno == EINTR);
  ::close(failure[0]);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (told == sizeof code) {
    errno = code;
    return cannot_run(argv[0]);
  }
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = end.signal != 0 ? 128 + end.signal : WEXITSTATUS(status);
  return end;
}

Error exec_process(const std::vector<std::string>& argv) {
  std::vector<char*> args = c_argv(argv);
  ::execvp(args[0], args.data());
  return cannot_run(argv[0]);
}

std::string shell_quote(const std::vector<std::string>& argv) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
  std::string out;
  for (const std::string& arg : argv) {
    if (!out.empty()) out += ' ';
    if (!arg.empty() && arg.find_first_not_of(kPlain) == std::string::npos) {
      out += arg;
      continue;
    }
    out += '\'';
    for (char c : arg) c == '\'' ? out += "'\\''" : out += c;
    out += '\'';
  }
  return out;
}

}  // namespace heddle
