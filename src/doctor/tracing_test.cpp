// `heddle doctor`: perf, Intel PT, cores, ptrace and sandboxes on invented machines; the trials on the real
// one.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

#include "doctor/doctor.h"
#include "doctor/fake_machine.h"
#include "doctor/trial.h"

namespace heddle {
namespace {

using enum CheckStatus;

Check check_of(const Machine& machine, const std::string& id) {
  for (Check& check : examine(machine).checks)
    if (check.id == id) return std::move(check);
  ADD_FAILURE() << "no check " << id;
  return {};
}

void expect(const Machine& machine, const std::string& id, CheckStatus status, const std::string& finding,
            const std::string& remedy) {
  const Check check = check_of(machine, id);
  EXPECT_EQ(check.status, status) << id;
  EXPECT_EQ(check.finding, finding) << id;
  EXPECT_EQ(check.remedy, remedy) << id;
  EXPECT_EQ(check.meaning.empty(), status == ok) << id;
}

void remove_pt(FakeMachine& machine) {
  std::erase_if(machine.files, [](const auto& file) { return file.first.starts_with(kFakePt); });
  machine.present.erase(kFakePt);
}

// --- perf ---

TEST(DoctorPerf, NotInstalled) {
  FakeMachine machine;
  machine.programs.erase("perf");
  expect(machine, "perf", missing, "not found in PATH", "sudo apt-get install linux-perf");
  machine.become(0, "000001ffffffffff");
  expect(machine, "perf", missing, "not found in PATH", "apt-get install linux-perf");
}

TEST(DoctorPerf, UbuntuScriptWithoutProgram) {
  FakeMachine machine;
  machine.files["/etc/os-release"] = "ID=ubuntu\nID_LIKE=debian\n";
  machine.answers["/usr/bin/perf --version"] = {.exit_code = 2,
                                                .output = "WARNING: perf not found for kernel 6.1.0-18\n"};
  expect(machine, "perf", missing, "/usr/bin/perf is there but does not run on kernel 6.1.0",
         "sudo apt-get install linux-tools-$(uname -r)");
}

TEST(DoctorPerf, OtherVersionThanTheKernel) {
  FakeMachine machine;
  machine.files["/proc/sys/kernel/osrelease"] = "6.18.44-fc\n";
  expect(machine, "perf", ok, "6.1.187; the kernel is 6.18.44, which works (/usr/bin/perf)", "");
}

TEST(DoctorPerf, Paranoid) {
  FakeMachine machine;
  machine.files["/proc/sys/kernel/perf_event_paranoid"] = "4\n";
  machine.trials[Trial::perf_event] = EACCES;
  expect(machine, "perf_rights", limited, "perf_event_paranoid is 4: only for privileged users",
         "sudo sysctl kernel.perf_event_paranoid=1");
  expect(machine, "intel_pt", limited,
         "available, but not permitted: perf_event_paranoid is 4: only for privileged users",
         "sudo sysctl kernel.perf_event_paranoid=1");
  machine.trials.clear();
  machine.become(1000, "0000004000000000");  // CAP_PERFMON
  expect(machine, "perf_rights", ok,
         "perf_event_paranoid is 4, and we are privileged; tracing our own processes works", "");
}

TEST(DoctorPerf, ForbiddenByTheContainer) {
  FakeMachine machine;
  machine.present.insert("/.dockerenv");
  machine.trials[Trial::perf_event] = EPERM;
  expect(machine, "perf_rights", limited,
         "perf_event_paranoid is 2, but perf_event_open fails: Operation not permitted",
         "docker run --cap-add PERFMON --security-opt seccomp=unconfined ...");
}

TEST(DoctorPerf, KernelWithoutEvents) {
  FakeMachine machine;
  machine.files.erase("/proc/sys/kernel/perf_event_paranoid");
  EXPECT_EQ(check_of(machine, "perf_rights").status, missing);
}

// --- Intel PT ---

TEST(DoctorPt, OldDevice) {
  FakeMachine machine;
  for (const char* cap : {"psb_cyc", "mtc", "ip_filtering", "ptwrite"})
    machine.files[kFakePt + "/caps/" + cap] = "0\n";
  expect(machine, "intel_pt", limited,
         "available: no extras; without psb_cyc, mtc, ip_filtering, ptwrite (record --mode pt --ptwrite needs "
         "ptwrite)",
         "use a newer Intel processor (Skylake or later)");
  machine = FakeMachine();
  machine.files[kFakePt + "/caps/ptwrite"] = "0\n";
  expect(machine, "intel_pt", ok,
         "available: psb_cyc, mtc, ip_filtering; without ptwrite (record --mode pt --ptwrite needs ptwrite)",
         "");
}

TEST(DoctorPt, ReasonsForItsAbsence) {
  FakeMachine machine;
  remove_pt(machine);
  EXPECT_EQ(check_of(machine, "intel_pt").finding, "the processor has it, but the kernel has no driver for it");
  machine.present.erase("/sys/bus/event_source/devices");
  expect(machine, "intel_pt", missing, "the processor has it, but /sys/bus/event_source/devices is not visible",
         "sudo mount -t sysfs sysfs /sys");
  machine.set_cpu("GenuineIntel", "constant_tsc nonstop_tsc hypervisor");
  expect(
      machine, "intel_pt", missing, "hidden by the virtual machine",
      "record on the host, or let the guest see it (host: kvm_intel pt_mode=1; QEMU: -cpu host,intel-pt=on)");
  machine.set_cpu("GenuineIntel", "constant_tsc nonstop_tsc");
  EXPECT_EQ(check_of(machine, "intel_pt").finding,
            "this Intel processor has none, or the firmware switched it off");
  machine.set_cpu("AuthenticAMD", "constant_tsc nonstop_tsc hypervisor");
  expect(machine, "intel_pt", missing, "not an Intel processor (AuthenticAMD)",
         "record with: heddle record --mode paths; PT needs an Intel processor");
}

TEST(DoctorPt, DeviceNotReadable) {
  FakeMachine machine;
  machine.forbidden[kFakePt + "/type"] = "Permission denied";
  expect(machine, "intel_pt", limited, kFakePt + " is there but not readable: Permission denied",
         "sudo chmod -R a+rX " + kFakePt);
}

// --- Cores ---

TEST(DoctorCores, Piped) {
  FakeMachine machine;
  machine.files["/proc/sys/kernel/core_pattern"] = "|/usr/share/apport/apport -p%p -s%s\n";
  expect(machine, "core_pattern", limited, "piped to /usr/share/apport/apport",
         "sudo sysctl kernel.core_pattern=core.%p");
  machine.files["/proc/sys/kernel/core_pattern"] = "|/usr/lib/systemd/systemd-coredump %P %u\n";
  expect(machine, "core_pattern", limited, "piped to /usr/lib/systemd/systemd-coredump",
         "coredumpctl dump -o core.app APP  (or for plain files: sudo sysctl kernel.core_pattern=core.%p)");
}

TEST(DoctorCores, Patterns) {
  FakeMachine machine;
  expect(machine, "core_pattern", ok, "'core.%p', in the program's working folder", "");
  machine.files["/proc/sys/kernel/core_pattern"] = "core\n";
  expect(machine, "core_pattern", ok, "'core', in the program's working folder; a new core replaces the last",
         "");
  machine.files["/proc/sys/kernel/core_pattern"] = "/cores/%e.%p\n";
  expect(machine, "core_pattern", limited,
         "'/cores/%e.%p': cannot write into /cores: No such file or directory",
         "sudo sysctl kernel.core_pattern=core.%p");
  machine.present.insert("/cores");
  expect(machine, "core_pattern", ok, "'/cores/%e.%p', one place for all programs", "");
  machine.files["/proc/sys/kernel/core_pattern"] = "\n";
  EXPECT_EQ(check_of(machine, "core_pattern").status, missing);
}

TEST(DoctorCores, SettingsOfAContainer) {
  FakeMachine machine;
  machine.present.insert("/.dockerenv");
  machine.files["/proc/sys/kernel/core_pattern"] = "|/bin/handler\n";
  EXPECT_EQ(check_of(machine, "core_pattern").remedy,
            "sudo sysctl kernel.core_pattern=core.%p  (on the host, outside of the container)");
  // Root where the settings can be written: a machine made from a container image, or a privileged container.
  machine.become(0, "000001ffffffffff");
  EXPECT_EQ(check_of(machine, "core_pattern").remedy, "sysctl kernel.core_pattern=core.%p");
  machine.forbidden["/proc/sys/kernel/core_pattern"] = "Read-only file system";
  EXPECT_EQ(check_of(machine, "core_pattern").remedy,
            "sysctl kernel.core_pattern=core.%p  (on the host, outside of the container)");
}

TEST(DoctorCores, Limit) {
  FakeMachine machine;
  expect(machine, "core_limit", ok, "unlimited", "");
  machine.limits[Limit::core_size] = {0, kUnlimited};
  expect(machine, "core_limit", limited, "limit 0 bytes (hard limit unlimited)", "ulimit -c unlimited");
  machine.limits[Limit::core_size] = {0, 1ull << 30};
  expect(machine, "core_limit", limited, "limit 0 bytes (hard limit 1.0 GiB)", "ulimit -S -c $(ulimit -H -c)");
  machine.limits[Limit::core_size] = {0, 0};
  expect(machine, "core_limit", limited, "limit 0 bytes (hard limit 0 bytes)",
         "echo '* hard core unlimited' | sudo tee /etc/security/limits.d/core.conf  (then log in again)");
  machine.present.insert("/.dockerenv");
  EXPECT_EQ(check_of(machine, "core_limit").remedy, "docker run --ulimit core=-1 ...");
}

// --- ptrace and addresses ---

TEST(DoctorPtrace, Scopes) {
  FakeMachine machine;
  expect(machine, "ptrace", ok, "ptrace_scope is 1; tracing and attaching to our own children work", "");
  machine.files["/proc/sys/kernel/yama/ptrace_scope"] = "2\n";
  machine.trials[Trial::attach_child] = EPERM;
  expect(machine, "ptrace", limited,
         "ptrace_scope is 2; a child can be traced, but attaching fails: Operation not permitted",
         "sudo sysctl kernel.yama.ptrace_scope=0");
  machine.files["/proc/sys/kernel/yama/ptrace_scope"] = "3\n";
  machine.trials[Trial::trace_child] = EPERM;
  EXPECT_EQ(check_of(machine, "ptrace").status, missing);
  EXPECT_TRUE(check_of(machine, "ptrace").remedy.starts_with("restart the machine"));
}

TEST(DoctorPtrace, ForbiddenByTheContainer) {
  FakeMachine machine;
  machine.files.erase("/proc/sys/kernel/yama/ptrace_scope");
  machine.present.insert("/run/.containerenv");
  machine.trials = {{Trial::trace_child, EPERM}, {Trial::attach_child, EPERM}, {Trial::fixed_addresses, EPERM}};
  expect(machine, "ptrace", missing,
         "no ptrace_scope (Yama is not active); tracing a child fails: Operation not permitted",
         "podman run --cap-add SYS_PTRACE --security-opt seccomp=unconfined ...");
  expect(machine, "addresses", limited,
         "randomize_va_space is 2; starting without randomisation fails: Operation not permitted",
         "podman run --security-opt seccomp=unconfined ...");
  machine.files["/proc/sys/kernel/randomize_va_space"] = "0\n";
  expect(machine, "addresses", ok, "randomize_va_space is 0: addresses are fixed for all", "");
}

// The trials end, whatever they find, and leave no child behind.
TEST(DoctorTrial, EndsAndLeavesNoChild) {
  for (const Trial trial : {Trial::trace_child, Trial::attach_child, Trial::fixed_addresses, Trial::perf_event})
    EXPECT_NE(try_for_real(trial), ETIMEDOUT);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace heddle
