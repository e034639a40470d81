// The checks of `heddle doctor`: one file per group, all registered in the table in doctor.cpp.
#pragma once

#include <string>
#include <utility>

#include "doctor/doctor.h"

namespace heddle {

// What a check says; the table adds id, group and title.
struct Finding {
  CheckStatus status = CheckStatus::ok;
  std::string finding;
  std::string meaning;
  std::string remedy;
};

inline Finding fine(std::string finding) {
  return {CheckStatus::ok, std::move(finding), {}, {}};
}
inline Finding limited(std::string finding, std::string meaning, std::string remedy) {
  return {CheckStatus::limited, std::move(finding), std::move(meaning), std::move(remedy)};
}
inline Finding missing(std::string finding, std::string meaning, std::string remedy) {
  return {CheckStatus::missing, std::move(finding), std::move(meaning), std::move(remedy)};
}

// tools.cpp
Finding check_version(const Machine& machine);
Finding check_clang(const Machine& machine);
Finding check_libraries(const Machine& machine);
Finding check_linker(const Machine& machine);
Finding check_llvm(const Machine& machine);
Finding check_gdb(const Machine& machine);
Finding check_kernel(const Machine& machine);
Finding check_distribution(const Machine& machine);

// cpu.cpp
Finding check_cpu(const Machine& machine);
Finding check_core_count(const Machine& machine);
Finding check_clock(const Machine& machine);

// tracing.cpp, pt.cpp
Finding check_perf(const Machine& machine);
Finding check_perf_rights(const Machine& machine);
Finding check_intel_pt(const Machine& machine);

// cores.cpp
Finding check_core_pattern(const Machine& machine);
Finding check_core_limit(const Machine& machine);
Finding check_ptrace(const Machine& machine);
Finding check_addresses(const Machine& machine);

// space.cpp
Finding check_memory(const Machine& machine);
Finding check_overcommit(const Machine& machine);
Finding check_map_count(const Machine& machine);
Finding check_thread_limit(const Machine& machine);
Finding check_cache(const Machine& machine);
Finding check_disk(const Machine& machine);

// parts.cpp
Finding check_compiler_wrapper(const Machine& machine);
Finding check_plugin(const Machine& machine);
Finding check_runtimes(const Machine& machine);
Finding check_effects_table(const Machine& machine);
Finding check_library_models(const Machine& machine);

}  // namespace heddle
