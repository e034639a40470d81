// An invented machine for the tests of `heddle doctor`: a Debian desktop with an Intel processor on which
// nothing is lacking. A test takes one thing away and states which check notices, and what it says.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/version.h"
#include "doctor/machine.h"

namespace heddle {

class FakeMachine : public Machine {
 public:
  FakeMachine();

  std::map<std::string, std::string> files;      // readable, with their text
  std::map<std::string, std::string> forbidden;  // path -> what access_problem says
  std::set<std::string> present;                 // further paths that exist, with all rights
  std::map<std::string, std::string> variables;  // environment
  std::map<std::string, std::string> programs;   // in PATH: name -> path
  std::map<std::string, ProcessEnd> answers;     // command line, words joined by blanks -> what it does
  std::map<Limit, LimitValue> limits;            // default: unlimited
  std::map<Trial, int> trials;                   // default: works
  Result<CacheFolder> cache_state = CacheFolder{"/home/ann/.cache/heddle", "", 50ull << 30, 3ull << 20};

  // "Uid" and "CapEff" of /proc/self/status.
  void become(int user, const std::string& capabilities, const std::string& cores = "0-7");
  void set_cpu(const std::string& vendor, const std::string& flags);

  std::optional<std::string> read(const std::filesystem::path& path) const override {
    const auto it = files.find(path);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  }
  std::string access_problem(const std::filesystem::path& path, Right) const override {
    if (const auto it = forbidden.find(path); it != forbidden.end()) return it->second;
    return files.contains(path) || present.contains(path) ? "" : "No such file or directory";
  }
  std::string environment(const std::string& name) const override {
    const auto it = variables.find(name);
    return it == variables.end() ? "" : it->second;
  }
  std::filesystem::path find_program(const std::string& name) const override {
    const auto it = programs.find(name);
    return it == programs.end() ? "" : it->second;
  }
  Result<ProcessEnd> run(const std::vector<std::string>& argv) const override {
    std::string line;
    for (const std::string& word : argv) line += (line.empty() ? "" : " ") + word;
    const auto it = answers.find(line);
    if (it == answers.end()) return Error{.what = "not found or not executable"};
    return it->second;
  }
  LimitValue limit(Limit which) const override {
    const auto it = limits.find(which);
    return it == limits.end() ? LimitValue{} : it->second;
  }
  int attempt(Trial trial) const override {
    const auto it = trials.find(trial);
    return it == trials.end() ? 0 : it->second;
  }
  Result<CacheFolder> cache() const override { return cache_state; }
  std::filesystem::path executable() const override { return "/opt/heddle/bin/heddle"; }
};

inline const std::string kFakeClang = HEDDLE_CLANG, kFakeClangxx = HEDDLE_CLANGXX;
inline const std::string kFakePt = "/sys/bus/event_source/devices/intel_pt";
inline const std::string kFakePluginTrial =
    kFakeClang + " -O1 -fpass-plugin=/opt/heddle/lib/heddle/heddle-embed.so -x c -S -o - /dev/null";

inline void FakeMachine::become(int user, const std::string& capabilities, const std::string& cores) {
  const std::string id = std::to_string(user);
  files["/proc/self/status"] = "Name:\theddle\nUid:\t" + id + "\t" + id + "\t" + id + "\t" + id +
                               "\nCapEff:\t" + capabilities + "\nCpus_allowed_list:\t" + cores + "\n";
}

inline void FakeMachine::set_cpu(const std::string& vendor, const std::string& flags) {
  files["/proc/cpuinfo"] = "processor\t: 0\nvendor_id\t: " + vendor +
                           "\nmodel name\t: Fast 9000\nflags\t\t: fpu " + flags + " sse2\n";
}

inline FakeMachine::FakeMachine() {
  become(1000, "0000000000000000");
  set_cpu("GenuineIntel", "constant_tsc nonstop_tsc intel_pt");
  files["/etc/os-release"] = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
  files["/proc/meminfo"] = "MemTotal:       16000000 kB\nMemAvailable:   12000000 kB\n";
  files["/proc/self/maps"] =
      "7f00-7f01 r-xp 0 00:01 7    /usr/lib/llvm-19/lib/libLLVM.so.19.1\n7f02-7f03 rw-p 0 0 0\n";
  files["/proc/sys/kernel/osrelease"] = "6.1.0-18-amd64\n";
  files["/proc/sys/kernel/perf_event_paranoid"] = "2\n";
  files["/proc/sys/kernel/core_pattern"] = "core.%p\n";
  files["/proc/sys/kernel/core_uses_pid"] = "0\n";
  files["/proc/sys/kernel/yama/ptrace_scope"] = "1\n";
  files["/proc/sys/kernel/randomize_va_space"] = "2\n";
  files["/proc/sys/vm/max_map_count"] = "65530\n";
  files["/proc/sys/vm/overcommit_memory"] = "0\n";
  files["/sys/devices/system/cpu/online"] = "0-7\n";
  files["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = "tsc\n";
  files[kFakePt + "/type"] = "8\n";
  for (const char* cap : {"psb_cyc", "mtc", "ip_filtering", "ptwrite"}) files[kFakePt + "/caps/" + cap] = "1\n";
  for (const char* part :
       {"bin/heddle-cc", "bin/heddle-c++", "lib/heddle/heddle-embed.so", "lib/heddle/libheddle-count.a",
        "lib/heddle/libheddle-control.a", "lib/heddle/libheddle-record.a", "share/heddle/effects.table",
        "share/heddle/models"})
    present.insert(std::string("/opt/heddle/") + part);
  present.insert(kFakePt);
  present.insert("/sys/bus/event_source/devices");
  programs = {{"gdb", "/usr/bin/gdb"}, {"perf", "/usr/bin/perf"}};
  answers[kFakeClang + " --version"].output =
      "Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu\n";
  answers[kFakeClang + " -print-file-name=crt1.o"].output = "/usr/lib/x86_64-linux-gnu/crt1.o\n";
  answers[kFakeClang + " -print-prog-name=ld"].output = "/usr/bin/ld\n";
  answers[kFakeClang + " -print-prog-name=ld.lld"].output = "/usr/lib/llvm-19/bin/ld.lld\n";
  answers[kFakeClang + " -fsyntax-only -x c -include pthread.h /dev/null"];
  answers[kFakeClangxx + " -fsyntax-only -x c++ -include thread /dev/null"];
  answers[kFakePluginTrial].output = "\t.file\t\"null\"\n";
  answers["/usr/bin/ld --version"].output = "GNU ld (GNU Binutils for Debian) 2.40\n";
  answers["/usr/lib/llvm-19/bin/ld.lld --version"].output = "Debian LLD 19.1.7 (compatible with GNU linkers)\n";
  answers["/usr/bin/gdb --version"].output = "GNU gdb (Debian 13.1-3) 13.1\nCopyright\n";
  answers["/usr/bin/perf --version"].output = "perf version 6.1.187\n";
}

}  // namespace heddle
