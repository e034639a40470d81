// Small questions that several checks of `heddle doctor` ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/machine.h"

namespace heddle {

// --- Text ---

std::string first_line(std::string_view text);
std::string trimmed(std::string_view text);
// The value of the first line "key : value", as in /proc/cpuinfo and /proc/self/status.
std::string field(std::string_view text, std::string_view key);
// The first thing that looks like a version, "19.1.7"; empty when there is none.
std::string version_in(std::string_view text);
int major_of(std::string_view version);  // 0 when there is none
std::string limit_text(uint64_t bytes);  // a size, or "unlimited"

// --- Settings ---

// A file of one line, without the line's end; empty when it cannot be read.
std::string setting(const Machine& machine, const std::string& path);
std::optional<int64_t> number_setting(const Machine& machine, const std::string& path);

// --- Who and where we are ---

bool is_root(const Machine& machine);
// Numbers of capabilities(7).
inline constexpr int kCapSysAdmin = 21, kCapSysResource = 24, kCapPerfmon = 38;
bool has_capability(const Machine& machine, int number);
bool cpu_has(const Machine& machine, std::string_view flag);
std::string distribution(const Machine& machine, std::string_view key);  // a key of /etc/os-release
// "docker", "podman", ...; empty outside of containers, as far as one can see from inside.
std::string container(const Machine& machine);

// --- Remedies, as commands for this very machine ---

std::string as_root(const Machine& machine, const std::string& command);  // with sudo unless we are root
std::string sysctl(const Machine& machine, const std::string& assignment);

enum class Package { clang, c_library, cxx_library, linker, gdb, perf };
std::string install(const Machine& machine, Package package);

// --- The compiler ---

// HEDDLE_CC / HEDDLE_CXX override what heddle was built with, as in `heddle cc`.
std::string c_compiler(const Machine& machine);
std::string cxx_compiler(const Machine& machine);
// Its version, or nothing when it does not run.
std::string clang_version(const Machine& machine);
// Output of `argv` when it ended well.
std::optional<std::string> output_of(const Machine& machine, const std::vector<std::string>& argv);

}  // namespace heddle
