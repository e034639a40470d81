// perf and the right to use it.
#include <fmt/core.h>

#include <cstring>

#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kWithoutPerf = "record --mode pt fails; the other modes of record do not need it";
constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";

// "6.1" of "6.1.187"
std::string series(const std::string& version) {
  const size_t dot = version.find('.');
  return dot == std::string::npos ? version : version.substr(0, version.find('.', dot + 1));
}

// Above 2 (a value of Debian's and Ubuntu's kernels) nothing is left to ordinary users.
constexpr int kMostParanoidUsable = 2;

std::string forbidden_in_sandbox(const Machine& machine) {
  const std::string inside = container(machine);
  if (inside == "docker" || inside == "podman")
    return inside + " run --cap-add PERFMON --security-opt seccomp=unconfined ...";
  return "allow the system call perf_event_open in this sandbox (seccomp filter, service unit or security "
         "module)";
}

}  // namespace

Finding check_perf(const Machine& machine) {
  const std::filesystem::path perf = machine.find_program("perf");
  if (perf.empty()) return missing("not found in PATH", kWithoutPerf, install(machine, Package::perf));
  const std::optional<std::string> text = output_of(machine, {perf, "--version"});
  const std::string kernel = version_in(setting(machine, "/proc/sys/kernel/osrelease"));
  if (!text || version_in(*text).empty()) {
    // Ubuntu's perf is a script that looks for a program made for exactly this kernel.
    return missing(fmt::format("{} is there but does not run on kernel {}", perf.string(), kernel),
                   kWithoutPerf, install(machine, Package::perf));
  }
  const std::string version = version_in(*text);
  if (series(version) == series(kernel))
    return fine(fmt::format("{}, matches the kernel ({})", version, perf.string()));
  // perf's interface to the kernel is compatible in both directions: new features are missing, PT is not one of
  // them.
  return fine(fmt::format("{}; the kernel is {}, which works ({})", version, kernel, perf.string()));
}

Finding check_perf_rights(const Machine& machine) {
  const std::optional<int64_t> level = number_setting(machine, kParanoid);
  if (!level) {
    return missing("the kernel has no performance events (no perf_event_paranoid)", kWithoutPerf,
                   "use a kernel with CONFIG_PERF_EVENTS=y");
  }
  const bool privileged = has_capability(machine, kCapSysAdmin) || has_capability(machine, kCapPerfmon);
  const std::string found =
      fmt::format("perf_event_paranoid is {}{}", *level, privileged ? ", and we are privileged" : "");
  const int error = machine.attempt(Trial::perf_event);
  if (error == 0) return fine(found + "; tracing our own processes works");
  if (!privileged && *level > kMostParanoidUsable) {
    return limited(found + ": only for privileged users", kWithoutPerf,
                   sysctl(machine, "kernel.perf_event_paranoid=1"));
  }
  return limited(fmt::format("{}, but perf_event_open fails: {}", found, std::strerror(error)), kWithoutPerf,
                 forbidden_in_sandbox(machine));
}

}  // namespace heddle
