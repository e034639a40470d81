// Core files, debuggers and address-space layout: what happens to the processes that heddle starts.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kNoCore =
    "a crash leaves no core file for heddle core; heddle record --mode core, which watches the program, writes "
    "one";

// The program a core is piped to, "|/usr/lib/systemd/systemd-coredump %P ...", and how to get the core back.
Finding piped(const Machine& machine, const std::string& pattern) {
  const std::string command = trimmed(pattern.substr(1));
  const std::string handler = command.substr(0, command.find(' '));
  const std::string change = sysctl(machine, "kernel.core_pattern=core.%p");
  const std::string remedy =
      handler.ends_with("systemd-coredump")
          ? fmt::format("coredumpctl dump -o core.app APP  (or for plain files: {})", change)
          : change;
  return limited(
      fmt::format("piped to {}", handler),
      "cores do not appear as files: core needs the file taken from the handler, or one of record --mode core",
      remedy);
}

std::string folder_of(const std::string& pattern) {
  return pattern.substr(0, std::max<size_t>(pattern.rfind('/'), 1));
}

bool in_fixed_folder(const std::string& pattern) {
  return folder_of(pattern).find('%') == std::string::npos;
}

std::string limit_file_remedy(const Machine& machine) {
  if (!container(machine).empty()) return fmt::format("{} run --ulimit core=-1 ...", container(machine));
  return fmt::format("echo '* hard core unlimited' | {}  (then log in again)",
                     as_root(machine, "tee /etc/security/limits.d/core.conf"));
}

std::string seccomp_remedy(const Machine& machine, const std::string& otherwise) {
  const std::string inside = container(machine);
  return inside == "docker" || inside == "podman" ? inside + " run --security-opt seccomp=unconfined ..."
                                                  : otherwise;
}

std::string scope_text(const Machine& machine) {
  const std::optional<int64_t> scope = number_setting(machine, "/proc/sys/kernel/yama/ptrace_scope");
  return scope ? fmt::format("ptrace_scope is {}", *scope) : "no ptrace_scope (Yama is not active)";
}

std::string ptrace_remedy(const Machine& machine) {
  const int64_t scope = number_setting(machine, "/proc/sys/kernel/yama/ptrace_scope").value_or(0);
  if (scope >= 3)
    return "restart the machine with kernel.yama.ptrace_scope=1 in /etc/sysctl.d (3 stays until then)";
  if (scope >= 1) return sysctl(machine, "kernel.yama.ptrace_scope=0");
  const std::string inside = container(machine);
  if (inside == "docker" || inside == "podman")
    return inside + " run --cap-add SYS_PTRACE --security-opt seccomp=unconfined ...";
  return "allow the system call ptrace in this sandbox (seccomp filter, or a tracer such as strace around "
         "heddle)";
}

}  // namespace

Finding check_core_pattern(const Machine& machine) {
  const std::string pattern = setting(machine, "/proc/sys/kernel/core_pattern");
  const bool adds_pid = setting(machine, "/proc/sys/kernel/core_uses_pid") == "1";
  if (pattern.empty() && !adds_pid) {
    return missing("the core pattern is empty or not readable", kNoCore,
                   sysctl(machine, "kernel.core_pattern=core.%p"));
  }
  if (pattern.starts_with('|')) return piped(machine, pattern);
  std::string found = fmt::format("'{}', ", pattern);
  if (!pattern.starts_with('/')) {
    found += "in the program's working folder";
  } else {
    const std::string folder = folder_of(pattern);
    const std::string problem = in_fixed_folder(pattern) ? machine.access_problem(folder, Right::write) : "";
    if (!problem.empty()) {
      return limited(fmt::format("'{}': cannot write into {}: {}", pattern, folder, problem), kNoCore,
                     sysctl(machine, "kernel.core_pattern=core.%p"));
    }
    found += "one place for all programs";
  }
  const bool named_apart = adds_pid || pattern.find("%p") != std::string::npos ||
                           pattern.find("%P") != std::string::npos || pattern.find("%t") != std::string::npos;
  return fine(found + (named_apart ? "" : "; a new core replaces the last"));
}

Finding check_core_limit(const Machine& machine) {
  const LimitValue limit = machine.limit(Limit::core_size);
  if (limit.soft == kUnlimited) return fine("unlimited");
  const std::string found =
      fmt::format("limit {} (hard limit {})", limit_text(limit.soft), limit_text(limit.hard));
  const bool free_to_raise = limit.hard == kUnlimited || has_capability(machine, kCapSysResource);
  return limited(found,
                 limit.soft == 0 ? kNoCore : "a longer core file is cut off: core may lack the memory it needs",
                 free_to_raise             ? "ulimit -c unlimited"
                 : limit.hard > limit.soft ? "ulimit -S -c $(ulimit -H -c)"
                                           : limit_file_remedy(machine));
}

Finding check_ptrace(const Machine& machine) {
  const std::string scope = scope_text(machine);
  const int trace = machine.attempt(Trial::trace_child), attach = machine.attempt(Trial::attach_child);
  if (trace != 0) {
    return missing(fmt::format("{}; tracing a child fails: {}", scope, std::strerror(trace)),
                   "replay --gdb fails", ptrace_remedy(machine));
  }
  if (attach != 0) {
    return limited(
        fmt::format("{}; a child can be traced, but attaching fails: {}", scope, std::strerror(attach)),
        "replay --gdb works; gdb -p on a running program fails", ptrace_remedy(machine));
  }
  return fine(scope + "; tracing and attaching to our own children work");
}

Finding check_addresses(const Machine& machine) {
  const std::string value = setting(machine, "/proc/sys/kernel/randomize_va_space");
  const std::string found =
      value.empty() ? "randomize_va_space is unknown" : fmt::format("randomize_va_space is {}", value);
  const int error = machine.attempt(Trial::fixed_addresses);
  if (error == 0) return fine(found + "; a process can be started without randomisation");
  if (value == "0") return fine(found + ": addresses are fixed for all");
  return limited(
      fmt::format("{}; starting without randomisation fails: {}", found, std::strerror(error)),
      "run, hunt, check and replay: addresses differ from run to run, so programs that depend on them diverge",
      seccomp_remedy(machine, sysctl(machine, "kernel.randomize_va_space=0")));
}

}  // namespace heddle
