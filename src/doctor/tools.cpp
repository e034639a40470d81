// Tools: compiler, linker, libraries, debugger, system. Tools are run, not only looked for.
#include <fmt/core.h>

#include "base/version.h"
#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kNoBuilding =
    "heddle cc, heddle c++ and every verb that makes an instrumented program fail";
constexpr const char* kNotTried = "not tried: clang does not run";
constexpr const char* kRepairClang = "repair clang first (see above), then: heddle doctor";

// Why a tool's answer is of no use.
std::string what_went_wrong(const Result<ProcessEnd>& end) {
  if (!end) return end.error().what + (end.error().why.empty() ? "" : ": " + end.error().why);
  return fmt::format("ended with exit code {}: {}", end->exit_code, first_line(end->output));
}

// Where clang would find a program or a file; empty when it would not. clang answers with the bare name then.
std::string clang_finds(const Machine& machine, const std::string& question, const std::string& name) {
  std::string answer;
  if (!clang_version(machine).empty())
    answer = trimmed(output_of(machine, {c_compiler(machine), question + name}).value_or(""));
  if (answer.find('/') != std::string::npos) return answer;
  return question == "-print-prog-name=" ? machine.find_program(name).string() : "";
}

bool has_header(const Machine& machine, const std::string& compiler, const std::string& language,
                const std::string& header) {
  return output_of(machine, {compiler, "-fsyntax-only", "-x", language, "-include", header, "/dev/null"})
      .has_value();
}

// "GNU ld 2.40", empty when there is none or it does not run.
std::string linker_version(const Machine& machine, const std::string& program, const char* name) {
  const std::string path = clang_finds(machine, "-print-prog-name=", program);
  if (path.empty()) return {};
  const std::optional<std::string> text = output_of(machine, {path, "--version"});
  return text ? fmt::format("{} {}", name, version_in(first_line(*text))) : "";
}

// Where the LLVM library of this process was loaded from; empty when it is part of the executable.
std::string llvm_library(const Machine& machine) {
  const std::string maps = machine.read("/proc/self/maps").value_or("");
  const size_t name = maps.find("libLLVM");
  if (name == std::string::npos) return {};
  const size_t begin = maps.rfind(' ', name) + 1;
  return maps.substr(begin, maps.find('\n', name) - begin);
}

// libLLVM-19.so.1 and libLLVM.so.19.1: the first number is the major version in both.
std::string llvm_version(const std::string& library) {
  const size_t digit = library.find_first_of("0123456789", library.rfind("libLLVM"));
  if (digit == std::string::npos) return {};
  const size_t end = library.find_first_not_of("0123456789.", digit);
  const std::string version = library.substr(digit, end - digit);
  return version.ends_with('.') ? version.substr(0, version.size() - 1) : version;
}

}  // namespace

Finding check_version(const Machine& machine) {
  return fine(fmt::format("{} ({})", HEDDLE_VERSION, machine.executable().string()));
}

Finding check_clang(const Machine& machine) {
  const std::string clang = c_compiler(machine);
  const bool chosen = !machine.environment("HEDDLE_CC").empty();
  const Result<ProcessEnd> end = machine.run({clang, "--version"});
  if (!end || end->exit_code != 0) {
    return missing(fmt::format("{}{}: {}", clang, chosen ? " (from HEDDLE_CC)" : "", what_went_wrong(end)),
                   kNoBuilding, chosen ? "unset HEDDLE_CC" : install(machine, Package::clang));
  }
  const std::string version = clang_version(machine);
  if (version.empty()) {
    return missing(fmt::format("{} is not clang: {}", clang, first_line(end->output)), kNoBuilding,
                   chosen ? "unset HEDDLE_CC" : install(machine, Package::clang));
  }
  return fine(fmt::format("{} ({}{})", version, clang, chosen ? ", from HEDDLE_CC" : ""));
}

Finding check_libraries(const Machine& machine) {
  if (clang_version(machine).empty()) return limited(kNotTried, kNoBuilding, kRepairClang);
  const bool start_file = !clang_finds(machine, "-print-file-name=", "crt1.o").empty();
  if (!start_file || !has_header(machine, c_compiler(machine), "c", "pthread.h")) {
    return missing(
        start_file ? "clang does not find pthread.h" : "clang does not find crt1.o, needed to link programs",
        kNoBuilding, install(machine, Package::c_library));
  }
  if (!has_header(machine, cxx_compiler(machine), "c++", "thread")) {
    return limited("C found; clang++ does not find the C++ header <thread>",
                   "heddle cc works, heddle c++ does not", install(machine, Package::cxx_library));
  }
  return fine("pthread.h, <thread> and crt1.o found");
}

Finding check_linker(const Machine& machine) {
  const std::string ld = linker_version(machine, "ld", "ld");
  const std::string lld = linker_version(machine, "ld.lld", "lld");
  if (!ld.empty())
    return fine(ld + (lld.empty() ? "; no lld (only for programs linked with -fuse-ld=lld)" : "; " + lld));
  if (!lld.empty()) {
    return limited(lld + "; no ld that runs", "programs can be linked only with -fuse-ld=lld",
                   fmt::format("{}  (or link with -fuse-ld=lld)", install(machine, Package::linker)));
  }
  return missing("neither ld nor lld runs", kNoBuilding, install(machine, Package::linker));
}

Finding check_llvm(const Machine& machine) {
  const std::string library = llvm_library(machine);
  if (library.empty()) return fine("part of heddle's executable");
  const std::string version = llvm_version(library), clang = clang_version(machine);
  const std::string found = fmt::format("{} ({})", version, library);
  if (clang.empty() || major_of(version) == 0 || major_of(clang) == major_of(version)) return fine(found);
  return limited(
      fmt::format("{}, but clang is {}", found, clang),
      "programs compiled by this clang may be unreadable for heddle: show, record, run, check fail on them",
      machine.environment("HEDDLE_CC").empty() ? install(machine, Package::clang)
                                               : "unset HEDDLE_CC HEDDLE_CXX");
}

Finding check_gdb(const Machine& machine) {
  constexpr const char* kMeaning = "replay --gdb fails; replay without it works";
  const std::filesystem::path gdb = machine.find_program("gdb");
  if (gdb.empty()) return missing("not found in PATH", kMeaning, install(machine, Package::gdb));
  const Result<ProcessEnd> end = machine.run({gdb, "--version"});
  if (!end || end->exit_code != 0) {
    return limited(fmt::format("{}: {}", gdb.string(), what_went_wrong(end)), kMeaning,
                   install(machine, Package::gdb));
  }
  return fine(fmt::format("{} ({})", version_in(first_line(end->output)), gdb.string()));
}

Finding check_kernel(const Machine& machine) {
  const std::string release = setting(machine, "/proc/sys/kernel/osrelease");
  if (release.empty()) {
    return limited("unknown: /proc is not readable",
                   "most of these checks, and all controlled runs, need /proc",
                   as_root(machine, "mount -t proc proc /proc"));
  }
  return fine(release + (cpu_has(machine, "hypervisor") ? ", in a virtual machine" : ""));
}

Finding check_distribution(const Machine& machine) {
  const std::string name = distribution(machine, "PRETTY_NAME"), inside = container(machine);
  return fine((name.empty() ? "unknown" : name) +
              (inside.empty() ? "" : fmt::format(", in a container ({})", inside)));
}

}  // namespace heddle
