// heddle's own parts, found the way the verbs find them: relative to the executable.
#include <fmt/core.h>

#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kInstall = "make  (in heddle's source folder; or install heddle again as a whole)";

std::filesystem::path part(const Machine& machine, const std::string& place) {
  return machine.executable().parent_path().parent_path() / place;
}

std::filesystem::path plugin_path(const Machine& machine) {
  return part(machine, "lib/heddle/heddle-embed.so");
}

std::string problem_text(const std::filesystem::path& path, const std::string& problem) {
  return fmt::format("{}: {}", path.string(), problem);
}

// What lies in share/heddle, or in HEDDLE_SHARE.
Finding check_shared(const Machine& machine, const std::string& name) {
  const std::filesystem::path path = part(machine, "share/heddle/" + name);
  const std::string problem = machine.access_problem(path, Right::read);
  if (problem.empty()) return fine(path.string());
  const std::string share = machine.environment("HEDDLE_SHARE");
  const std::filesystem::path other = std::filesystem::path(share) / name;
  if (!share.empty() && machine.access_problem(other, Right::read).empty())
    return fine(other.string() + " (from HEDDLE_SHARE)");
  return missing(problem_text(path, problem), "show and every verb that analyses a program fail",
                 "export HEDDLE_SHARE=FOLDER_WITH_" + name + "  (or install heddle again as a whole)");
}

}  // namespace

Finding check_compiler_wrapper(const Machine& machine) {
  for (const char* name : {"bin/heddle-cc", "bin/heddle-c++"}) {
    const std::filesystem::path path = part(machine, name);
    const std::string problem = machine.access_problem(path, Right::execute);
    if (!problem.empty())
      return missing(problem_text(path, problem), "heddle cc and heddle c++ fail", kInstall);
  }
  return fine(part(machine, "bin/heddle-cc").string() + ", heddle-c++");
}

Finding check_plugin(const Machine& machine) {
  constexpr const char* kMeaning = "heddle cc and heddle c++ fail: programs would be built without their model";
  const std::filesystem::path path = plugin_path(machine);
  const std::string problem = machine.access_problem(path, Right::read);
  if (!problem.empty()) return missing(problem_text(path, problem), kMeaning, kInstall);
  if (clang_version(machine).empty()) {
    return limited(path.string() + ", not tried: clang does not run", kMeaning,
                   "repair clang first (see above), then: heddle doctor");
  }
  // A plugin made for another LLVM is refused, or is missing symbols, only when it is loaded.
  const Result<ProcessEnd> end = machine.run(
      {c_compiler(machine), "-O1", "-fpass-plugin=" + path.string(), "-x", "c", "-S", "-o", "-", "/dev/null"});
  if (end && end->exit_code == 0) return fine(path.string() + ", clang loads it");
  return missing(fmt::format("clang does not load {}: {}", path.string(),
                             end ? first_line(end->output) : end.error().what),
                 kMeaning, machine.environment("HEDDLE_CC").empty() ? kInstall : "unset HEDDLE_CC HEDDLE_CXX");
}

Finding check_runtimes(const Machine& machine) {
  // heddle_runtime in src/CMakeLists.txt.
  std::string found;
  for (const char* name :
       {"lib/heddle/libheddle-count.a", "lib/heddle/libheddle-control.a", "lib/heddle/libheddle-record.a"}) {
    const std::filesystem::path path = part(machine, name);
    const std::string problem = machine.access_problem(path, Right::read);
    if (!problem.empty())
      return missing(problem_text(path, problem), "the verbs that run instrumented programs fail", kInstall);
    found += (found.empty() ? "" : ", ") + (found.empty() ? path : path.filename()).string();
  }
  return fine(found);
}

Finding check_effects_table(const Machine& machine) {
  return check_shared(machine, "effects.table");
}

Finding check_library_models(const Machine& machine) {
  return check_shared(machine, "models");
}

}  // namespace heddle
