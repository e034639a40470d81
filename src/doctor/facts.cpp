#include "doctor/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/size.h"
#include "base/version.h"

namespace heddle {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Families of distributions by their package command.
enum class Packager { debian, ubuntu, dnf, pacman, zypper, unknown };

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || kBlank.find(words[at - 1]) != std::string_view::npos;
    const size_t end = at + word.size();
    if (starts && (end == words.size() || kBlank.find(words[end]) != std::string_view::npos)) return true;
  }
  return false;
}

Packager packager(const Machine& machine) {
  constexpr std::array<std::pair<std::string_view, Packager>, 8> kFamilies = {{
      {"ubuntu", Packager::ubuntu},  // before debian, which it names in ID_LIKE
      {"debian", Packager::debian},
      {"fedora", Packager::dnf},
      {"rhel", Packager::dnf},
      {"centos", Packager::dnf},
      {"arch", Packager::pacman},
      {"suse", Packager::zypper},
      {"opensuse", Packager::zypper},
  }};
  const std::string ids = distribution(machine, "ID") + ' ' + distribution(machine, "ID_LIKE");
  for (const auto& [name, family] : kFamilies)
    if (has_word(ids, name)) return family;
  return Packager::unknown;
}

struct PackageNames {
  const char *debian, *ubuntu, *dnf, *pacman, *zypper, *general;
};

PackageNames names_of(Package package) {
  switch (package) {
    case Package::clang:
      return {"clang-19", "clang-19", "clang", "clang19", "clang19", "clang 19"};
    case Package::c_library:
      return {"libc6-dev", "libc6-dev",   "glibc-devel",
              "glibc",     "glibc-devel", "the C library's development files"};
    case Package::cxx_library:
      return {"g++", "g++", "gcc-c++", "gcc", "gcc-c++", "libstdc++'s development files"};
    case Package::linker:
      return {"binutils", "binutils", "binutils", "binutils", "binutils", "GNU binutils"};
    case Package::gdb:
      return {"gdb", "gdb", "gdb", "gdb", "gdb", "gdb"};
    case Package::perf:
      return {"linux-perf", "linux-tools-$(uname -r)", "perf", "perf", "perf", "perf"};
  }
  report_bug("a package without names", __FILE__, __LINE__);
}

}  // namespace

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

std::string field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

std::string version_in(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    std::string_view found = text.substr(at, end - at);
    if (found.back() == '.') found.remove_suffix(1);
    if (found.find('.') != std::string_view::npos) return std::string(found);
    at = end;
  }
  return {};
}

int major_of(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

std::string limit_text(uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : size_text(bytes);
}

std::string setting(const Machine& machine, const std::string& path) {
  return trimmed(first_line(machine.read(path).value_or("")));
}

std::optional<int64_t> number_setting(const Machine& machine, const std::string& path) {
  const std::string text = setting(machine, path);
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_root(const Machine& machine) {
  // "Uid: real effective saved file-system"
  const std::string ids = field(machine.read("/proc/self/status").value_or(""), "Uid");
  const size_t effective = ids.find_first_of(kBlank);
  return effective != std::string::npos && trimmed(ids.substr(effective)).starts_with("0\t");
}

bool has_capability(const Machine& machine, int number) {
  const std::string text = field(machine.read("/proc/self/status").value_or(""), "CapEff");
  uint64_t bits = 0;
  std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  return (bits >> number & 1) != 0;
}

bool cpu_has(const Machine& machine, std::string_view flag) {
  return has_word(field(machine.read("/proc/cpuinfo").value_or(""), "flags"), flag);
}

std::string distribution(const Machine& machine, std::string_view key) {
  const std::string text = machine.read("/etc/os-release").value_or("");
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(key) || line.substr(key.size(), 1) != "=") continue;
    line.remove_prefix(key.size() + 1);
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

std::string container(const Machine& machine) {
  if (machine.access_problem("/.dockerenv", Right::exists).empty()) return "docker";
  if (machine.access_problem("/run/.containerenv", Right::exists).empty()) return "podman";
  return machine.environment("container");  // systemd-nspawn, lxc, podman set it
}

std::string as_root(const Machine& machine, const std::string& command) {
  return is_root(machine) ? command : "sudo " + command;
}

std::string sysctl(const Machine& machine, const std::string& assignment) {
  const std::string command = as_root(machine, "sysctl " + assignment);
  if (container(machine).empty()) return command;
  // Most containers see these settings and cannot change them.
  std::string file = "/proc/sys/" + assignment.substr(0, assignment.find('='));
  std::replace(file.begin() + sizeof "/proc/sys", file.end(), '.', '/');
  if (is_root(machine) && machine.access_problem(file, Right::write).empty()) return command;
  return command + "  (on the host, outside of the container)";
}

std::string install(const Machine& machine, Package package) {
  const PackageNames names = names_of(package);
  switch (packager(machine)) {
    case Packager::debian:
      return as_root(machine, fmt::format("apt-get install {}", names.debian));
    case Packager::ubuntu:
      return as_root(machine, fmt::format("apt-get install {}", names.ubuntu));
    case Packager::dnf:
      return as_root(machine, fmt::format("dnf install {}", names.dnf));
    case Packager::pacman:
      return as_root(machine, fmt::format("pacman -S {}", names.pacman));
    case Packager::zypper:
      return as_root(machine, fmt::format("zypper install {}", names.zypper));
    case Packager::unknown:
      break;
  }
  return fmt::format("install {} with this system's package manager", names.general);
}

std::string c_compiler(const Machine& machine) {
  const std::string chosen = machine.environment("HEDDLE_CC");
  return chosen.empty() ? HEDDLE_CLANG : chosen;
}

std::string cxx_compiler(const Machine& machine) {
  const std::string chosen = machine.environment("HEDDLE_CXX");
  return chosen.empty() ? HEDDLE_CLANGXX : chosen;
}

std::string clang_version(const Machine& machine) {
  const std::string text = output_of(machine, {c_compiler(machine), "--version"}).value_or("");
  const size_t at = text.find("clang version ");
  return at == std::string::npos ? "" : version_in(text.substr(at));
}

std::optional<std::string> output_of(const Machine& machine, const std::vector<std::string>& argv) {
  const Result<ProcessEnd> end = machine.run(argv);
  if (!end || end->exit_code != 0) return std::nullopt;
  return end->output;
}

}  // namespace heddle
