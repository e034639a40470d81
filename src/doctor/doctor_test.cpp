// `heddle doctor` on invented machines: each lacks one thing, and exactly the checks named must notice.
#include "doctor/doctor.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "doctor/fake_machine.h"

namespace heddle {
namespace {

using enum CheckStatus;

std::set<std::string> lacks(const DoctorReport& report) {
  std::set<std::string> ids;
  for (const Check& check : report.checks)
    if (check.status != ok) ids.insert(check.id);
  return ids;
}

Check find(const DoctorReport& report, const std::string& id) {
  for (const Check& check : report.checks)
    if (check.id == id) return check;
  ADD_FAILURE() << "no check " << id;
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Exactly one check is not ok: this one, and it says these things. Returns the report for further questions.
DoctorReport expect_only(const Machine& machine, const std::string& id, CheckStatus status,
                         const std::string& finding, const std::string& remedy) {
  DoctorReport report = examine(machine);
  EXPECT_EQ(lacks(report), std::set<std::string>{id});
  const Check check = find(report, id);
  EXPECT_EQ(check.status, status);
  EXPECT_PRED2(has, check.finding, finding);
  EXPECT_PRED2(has, check.remedy, remedy);
  EXPECT_FALSE(check.meaning.empty());
  return report;
}

TEST(Doctor, NothingLacking) {
  const DoctorReport report = examine(FakeMachine());
  EXPECT_EQ(lacks(report), std::set<std::string>());
  EXPECT_TRUE(report.ready());
  EXPECT_EQ(find(report, "clang").finding, "19.1.7 (" + kFakeClang + ")");
  EXPECT_EQ(find(report, "linker").finding, "ld 2.40; lld 19.1.7");
  EXPECT_EQ(find(report, "llvm").finding, "19.1 (/usr/lib/llvm-19/lib/libLLVM.so.19.1)");
  EXPECT_EQ(find(report, "gdb").finding, "13.1 (/usr/bin/gdb)");
  EXPECT_EQ(find(report, "core_count").finding, "8 of 8 online");
  EXPECT_EQ(find(report, "perf").finding, "6.1.187, matches the kernel (/usr/bin/perf)");
  EXPECT_EQ(find(report, "intel_pt").finding, "available: psb_cyc, mtc, ip_filtering, ptwrite");
  EXPECT_EQ(find(report, "memory").finding, "15.3 GiB, 11.4 GiB available");
  EXPECT_EQ(find(report, "cache").finding, "/home/ann/.cache/heddle, writable, 3.0 MiB used");
  for (const Check& check : report.checks) EXPECT_EQ(check.meaning + check.remedy, "") << check.id;
}

// --- Tools ---

TEST(Doctor, MissingClang) {
  FakeMachine machine;
  std::erase_if(machine.answers, [](const auto& answer) { return answer.first.starts_with(kFakeClang); });
  machine.programs["ld"] = "/usr/bin/ld";
  const DoctorReport report = examine(machine);
  EXPECT_EQ(lacks(report), (std::set<std::string>{"clang", "libraries", "plugin"}));
  EXPECT_EQ(find(report, "clang").status, missing);
  EXPECT_EQ(find(report, "clang").finding, kFakeClang + ": not found or not executable");
  EXPECT_EQ(find(report, "clang").remedy, "sudo apt-get install clang-19");
  // What could not be tried is not called missing.
  EXPECT_EQ(find(report, "libraries").status, limited);
  EXPECT_EQ(find(report, "plugin").status, limited);
  EXPECT_EQ(report.essentials_missing(), std::vector<std::string>{"clang"});
}

TEST(Doctor, OtherClangChosen) {
  FakeMachine machine;
  machine.variables["HEDDLE_CC"] = "gcc";
  machine.answers["gcc --version"].output = "gcc (Debian 12.2.0-14) 12.2.0\n";
  const Check check = find(examine(machine), "clang");
  EXPECT_EQ(check.status, missing);
  EXPECT_EQ(check.finding, "gcc is not clang: gcc (Debian 12.2.0-14) 12.2.0");
  EXPECT_EQ(check.remedy, "unset HEDDLE_CC");
}

TEST(Doctor, LlvmOfAnotherMajorVersion) {
  FakeMachine machine;
  machine.files["/proc/self/maps"] = "7f00-7f01 r-xp 0 00:01 7    /usr/lib/x86_64-linux-gnu/libLLVM-18.so.1\n";
  expect_only(machine, "llvm", limited, "18 (/usr/lib/x86_64-linux-gnu/libLLVM-18.so.1), but clang is 19.1.7",
              "clang-19");
}

TEST(Doctor, NoDevelopmentFiles) {
  FakeMachine machine;
  machine.answers[kFakeClang + " -print-file-name=crt1.o"].output = "crt1.o\n";
  EXPECT_FALSE(expect_only(machine, "libraries", missing, "crt1.o", "apt-get install libc6-dev").ready());
  machine = FakeMachine();
  machine.answers[kFakeClangxx + " -fsyntax-only -x c++ -include thread /dev/null"].exit_code = 1;
  EXPECT_TRUE(expect_only(machine, "libraries", limited, "<thread>", "apt-get install g++").ready());
}

TEST(Doctor, Linkers) {
  FakeMachine machine;
  machine.answers[kFakeClang + " -print-prog-name=ld"].output = "ld\n";
  expect_only(machine, "linker", limited, "lld 19.1.7; no ld", "-fuse-ld=lld");
  machine.answers[kFakeClang + " -print-prog-name=ld.lld"].output = "ld.lld\n";
  EXPECT_FALSE(expect_only(machine, "linker", missing, "neither", "apt-get install binutils").ready());
}

TEST(Doctor, InstallCommandFitsTheDistribution) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"ID=ubuntu\nID_LIKE=debian\n", "sudo apt-get install gdb"},
      {"ID=fedora\n", "sudo dnf install gdb"},
      {"ID=manjaro\nID_LIKE=arch\n", "sudo pacman -S gdb"},
      {"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "sudo zypper install gdb"},
      {"ID=plan9\n", "install gdb with this system's package manager"}};
  for (const auto& [release, command] : expected) {
    FakeMachine machine;
    machine.files["/etc/os-release"] = release;
    machine.programs.erase("gdb");
    EXPECT_EQ(find(expect_only(machine, "gdb", missing, "not found in PATH", ""), "gdb").remedy, command);
  }
}

// --- CPU ---

TEST(Doctor, OneUsableCore) {
  FakeMachine machine;
  machine.become(1000, "0", "3");
  expect_only(machine, "core_count", limited, "1 of 8 online", "taskset -pc 0-7 $$");
  machine.become(1000, "0", "0-1,4,6-7");
  EXPECT_EQ(find(examine(machine), "core_count").finding, "5 of 8 online");
}

TEST(Doctor, ClockNotInvariant) {
  FakeMachine machine;
  machine.set_cpu("GenuineIntel", "constant_tsc intel_pt");
  expect_only(machine, "clock", limited, "TSC without nonstop_tsc", "nothing on this processor");
  machine.set_cpu("GenuineIntel", "intel_pt hypervisor");
  expect_only(machine, "clock", limited, "TSC without constant_tsc and nonstop_tsc", "+invtsc");
  machine = FakeMachine();
  machine.files["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = "hpet\n";
  expect_only(machine, "clock", limited, "the kernel chose hpet", "dmesg");
}

// --- Space ---

TEST(Doctor, LittleRoom) {
  FakeMachine machine;
  machine.files["/proc/meminfo"] = "MemTotal: 2000000 kB\nMemAvailable: 500000 kB\n";
  expect_only(machine, "memory", limited, "488.3 MiB available", "--jobs 1");
  machine = FakeMachine();
  machine.files["/sys/fs/cgroup/memory.max"] = "1073741824\n";
  expect_only(machine, "memory", limited, "the control group allows 1.0 GiB", "--jobs 1");
  machine = FakeMachine();
  machine.files["/proc/sys/vm/overcommit_memory"] = "2\n";
  expect_only(machine, "overcommit", limited, "is 2", "sudo sysctl vm.overcommit_memory=0");
  machine = FakeMachine();
  machine.files["/proc/sys/vm/max_map_count"] = "1000\n";
  expect_only(machine, "map_count", limited, "is 1000", "sudo sysctl vm.max_map_count=262144");
  machine = FakeMachine();
  machine.limits[Limit::processes] = {100, 4000};
  expect_only(machine, "thread_limit", limited, "at most 100", "ulimit -S -u $(ulimit -H -u)");
}

TEST(Doctor, DiskNearlyFull) {
  FakeMachine machine;
  machine.cache_state->free_bytes = 700ull << 20;
  const DoctorReport report =
      expect_only(machine, "disk", limited, "700.0 MiB", "rm -r /home/ann/.cache/heddle/variants");
  EXPECT_TRUE(report.ready());
}

TEST(Doctor, CacheNotWritable) {
  FakeMachine machine;
  machine.cache_state->problem = "cannot create a temporary folder in: Read-only file system";
  EXPECT_FALSE(
      expect_only(machine, "cache", missing, "Read-only file system", "export XDG_CACHE_HOME=").ready());
  machine.cache_state = Error{.what = "no place for the cache", .next = "export XDG_CACHE_HOME=/x"};
  EXPECT_FALSE(
      expect_only(machine, "cache", missing, "no place for the cache", "export XDG_CACHE_HOME=/x").ready());
}

// --- heddle itself ---

TEST(Doctor, PartsMissing) {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"bin/heddle-cc", "compiler_wrapper"},         {"lib/heddle/heddle-embed.so", "plugin"},
      {"lib/heddle/libheddle-count.a", "runtimes"},  {"lib/heddle/libheddle-control.a", "runtimes"},
      {"lib/heddle/libheddle-record.a", "runtimes"}, {"share/heddle/effects.table", "effects_table"},
      {"share/heddle/models", "library_models"}};
  for (const auto& [part, id] : parts) {
    FakeMachine machine;
    machine.forbidden["/opt/heddle/" + part] = "Permission denied";
    EXPECT_FALSE(expect_only(machine, id, missing, "/opt/heddle/" + part + ": Permission denied", "").ready());
  }
}

TEST(Doctor, EffectsTableElsewhere) {
  FakeMachine machine;
  machine.present.erase("/opt/heddle/share/heddle/effects.table");
  machine.variables["HEDDLE_SHARE"] = "/srv";
  machine.present.insert("/srv/effects.table");
  EXPECT_EQ(find(examine(machine), "effects_table").finding, "/srv/effects.table (from HEDDLE_SHARE)");
}

TEST(Doctor, PluginOfAnotherLlvm) {
  FakeMachine machine;
  machine.answers[kFakePluginTrial] = {.exit_code = 1, .output = "error: unable to load plugin\nmore\n"};
  expect_only(machine, "plugin", missing, "heddle-embed.so: error: unable to load plugin", "make");
}

// --- Output ---

TEST(Doctor, Text) {
  FakeMachine machine;
  machine.programs.erase("gdb");
  const DoctorReport report = examine(machine);
  const std::string text = doctor_text(report);
  EXPECT_PRED2(has, text, "Tools\n  ok       heddle             ");
  EXPECT_PRED2(has, text,
               "  missing  gdb                not found in PATH\n"
               "           means: replay --gdb fails; replay without it works\n"
               "           do:    sudo apt-get install gdb\n");
  EXPECT_PRED2(has, text, "\n\nheddle itself\n");
  EXPECT_TRUE(text.ends_with("\n\n28 ok, 0 limited, 1 missing\n")) << text;
  EXPECT_FALSE(has(text, "\x1b"));
  const std::string brief = doctor_text(report, {.detail = DoctorTextOptions::Detail::lacks_only});
  EXPECT_TRUE(brief.starts_with("Tools\n  missing  gdb  "));
  EXPECT_FALSE(has(brief, "Space"));
  EXPECT_PRED2(has, doctor_text(report, {.colour = DoctorTextOptions::Colour::yes}),
               "\x1b[31mmissing\x1b[0m  gdb");
  machine.present.clear();
  EXPECT_PRED2(has, doctor_text(examine(machine)),
               "; heddle cannot work without: compiler_wrapper, plugin, runtimes, effects_table, library_models\n");
}

TEST(Doctor, JsonHasStableKeys) {
  FakeMachine machine;
  machine.forbidden["/opt/heddle/bin/heddle-cc"] = "Permission denied";
  const Json json = examine(machine).to_json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["checks"][1].items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"id", "group", "title", "status", "finding", "meaning", "remedy"}));
  EXPECT_EQ(json["checks"][1]["id"], "clang");
  EXPECT_EQ(json["checks"][1]["group"], "Tools");
  EXPECT_EQ(json["checks"][1]["status"], "ok");
  EXPECT_EQ(json["summary"].dump(),
            R"({"ok":28,"limited":0,"missing":1,"ready":false,"essentials_missing":["compiler_wrapper"]})");
}

TEST(Doctor, ThisMachine) {
  const DoctorReport report = examine(*this_machine());
  std::set<std::string> ids;
  for (const Check& check : report.checks) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id << " twice";
    EXPECT_FALSE(check.title.empty()) << check.id;
    EXPECT_FALSE(check.finding.empty()) << check.id;
    EXPECT_EQ(check.meaning.empty(), check.status == ok) << check.id << ": " << check.finding;
    EXPECT_EQ(check.remedy.empty(), check.status == ok) << check.id << ": " << check.finding;
  }
  EXPECT_EQ(find(report, "clang").status, ok) << "this test was compiled by it";
}

}  // namespace
}  // namespace heddle
