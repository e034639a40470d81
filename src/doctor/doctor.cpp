#include "doctor/doctor.h"

#include <algorithm>
#include <array>

#include "doctor/checks.h"

namespace heddle {
namespace {

enum class Need { essential, useful };

struct Entry {
  const char* id;
  CheckGroup group;
  const char* title;
  Need need;
  Finding (*check)(const Machine&);
};

using enum CheckGroup;
using enum Need;

// Grouped: the text prints a heading where the group changes.
constexpr Entry kChecks[] = {
    {"heddle", tools, "heddle", useful, check_version},
    {"clang", tools, "clang", essential, check_clang},
    {"libraries", tools, "C and C++ library", essential, check_libraries},
    {"linker", tools, "linker", essential, check_linker},
    {"llvm", tools, "LLVM library", useful, check_llvm},
    {"gdb", tools, "gdb", useful, check_gdb},
    {"kernel", tools, "kernel", useful, check_kernel},
    {"distribution", tools, "distribution", useful, check_distribution},

    {"cpu", cpu, "model", useful, check_cpu},
    {"core_count", cpu, "usable cores", useful, check_core_count},
    {"clock", cpu, "invariant clock", useful, check_clock},

    {"perf", tracing, "perf", useful, check_perf},
    {"perf_rights", tracing, "perf events", useful, check_perf_rights},
    {"intel_pt", tracing, "Intel PT", useful, check_intel_pt},

    {"core_pattern", cores, "core file place", useful, check_core_pattern},
    {"core_limit", cores, "core file size", useful, check_core_limit},
    {"ptrace", cores, "ptrace", useful, check_ptrace},
    {"addresses", cores, "fixed addresses", useful, check_addresses},

    {"memory", space, "memory", useful, check_memory},
    {"overcommit", space, "overcommit", useful, check_overcommit},
    {"map_count", space, "memory maps", useful, check_map_count},
    {"thread_limit", space, "threads", useful, check_thread_limit},
    {"cache", space, "cache folder", essential, check_cache},
    {"disk", space, "free disk space", useful, check_disk},

    {"compiler_wrapper", CheckGroup::heddle, "compilers", essential, check_compiler_wrapper},
    {"plugin", CheckGroup::heddle, "clang plugin", essential, check_plugin},
    {"runtimes", CheckGroup::heddle, "runtimes", essential, check_runtimes},
    {"effects_table", CheckGroup::heddle, "effects table", essential, check_effects_table},
    {"library_models", CheckGroup::heddle, "library models", essential, check_library_models},
};

Json check_json(const Check& check) {
  return {{"id", check.id},           {"group", group_name(check.group)},
          {"title", check.title},     {"status", status_name(check.status)},
          {"finding", check.finding}, {"meaning", check.meaning},
          {"remedy", check.remedy}};
}

}  // namespace

std::string_view status_name(CheckStatus status) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "limited", "missing"};
  return kNames[static_cast<size_t>(status)];
}

std::string_view group_name(CheckGroup group) {
  constexpr std::array<std::string_view, 6> kNames = {"Tools", "CPU",          "Tracing", "Cores and ptrace",
                                                      "Space", "heddle itself"};
  return kNames[static_cast<size_t>(group)];
}

DoctorReport examine(const Machine& machine) {
  DoctorReport report;
  for (const Entry& entry : kChecks) {
    Finding found = entry.check(machine);
    report.checks.push_back({entry.id, entry.group, entry.title, found.status, std::move(found.finding),
                             std::move(found.meaning), std::move(found.remedy), entry.need == essential});
  }
  return report;
}

size_t DoctorReport::count(CheckStatus status) const {
  return static_cast<size_t>(
      std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.status == status; }));
}

std::vector<std::string> DoctorReport::essentials_missing() const {
  std::vector<std::string> ids;
  for (const Check& check : checks)
    if (check.essential && check.status == CheckStatus::missing) ids.push_back(check.id);
  return ids;
}

Json DoctorReport::to_json() const {
  Json list = Json::array();
  for (const Check& check : checks) list.push_back(check_json(check));
  return {{"checks", std::move(list)},
          {"summary",
           {{"ok", count(CheckStatus::ok)},
            {"limited", count(CheckStatus::limited)},
            {"missing", count(CheckStatus::missing)},
            {"ready", ready()},
            {"essentials_missing", essentials_missing()}}}};
}

}  // namespace heddle
