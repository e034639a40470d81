// Intel PT: present, or which of the many reasons keeps it away.
#include <fmt/format.h>

#include <vector>

#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kDevices = "/sys/bus/event_source/devices";
constexpr const char* kWithoutTrace =
    "record --mode pt fails; record --mode paths, flow and core do not need it";
constexpr const char* kWithout = "record with: heddle record --mode paths";

bool has_cap(const Machine& machine, const char* name) {
  return setting(machine, fmt::format("{}/intel_pt/caps/{}", kDevices, name)) == "1";
}

Finding without_device(const Machine& machine) {
  const std::string info = machine.read("/proc/cpuinfo").value_or("");
  const std::string vendor = field(info, "vendor_id");
  if (vendor != "GenuineIntel") {
    return missing(fmt::format("not an Intel processor ({})", vendor.empty() ? "vendor unknown" : vendor),
                   kWithoutTrace, fmt::format("{}; PT needs an Intel processor", kWithout));
  }
  const bool guest = cpu_has(machine, "hypervisor");
  if (cpu_has(machine, "intel_pt")) {
    if (!machine.access_problem(kDevices, Right::exists).empty()) {
      return missing(fmt::format("the processor has it, but {} is not visible", kDevices), kWithoutTrace,
                     container(machine).empty()
                         ? as_root(machine, "mount -t sysfs sysfs /sys")
                         : "give the container the host's /sys (docker run -v /sys:/sys:ro ...)");
    }
    return missing(
        "the processor has it, but the kernel has no driver for it", kWithoutTrace,
        "use a kernel with CONFIG_PERF_EVENTS=y and CONFIG_CPU_SUP_INTEL=y; see: sudo dmesg | grep -i pt");
  }
  if (guest) {
    return missing(
        "hidden by the virtual machine", kWithoutTrace,
        "record on the host, or let the guest see it (host: kvm_intel pt_mode=1; QEMU: -cpu host,intel-pt=on)");
  }
  return missing("this Intel processor has none, or the firmware switched it off", kWithoutTrace,
                 fmt::format("{}; PT needs Broadwell (2015) or later, enabled in the firmware", kWithout));
}

// What the device can do, and what its lack costs.
Finding with_device(const Machine& machine) {
  std::vector<std::string> has, lacks;
  for (const char* cap : {"psb_cyc", "mtc", "ip_filtering", "ptwrite"})
    (has_cap(machine, cap) ? has : lacks).push_back(cap);
  std::string found =
      fmt::format("available: {}", has.empty() ? "no extras" : fmt::format("{}", fmt::join(has, ", ")));
  if (!lacks.empty()) found += fmt::format("; without {}", fmt::join(lacks, ", "));

  std::vector<std::string> costs;
  if (!has_cap(machine, "psb_cyc") && !has_cap(machine, "mtc"))
    costs.push_back("time in the trace is coarse, so solve has fewer order facts");
  if (!has_cap(machine, "ip_filtering")) costs.push_back("libraries are traced too, so traces are bigger");
  if (!has_cap(machine, "ptwrite")) found += " (record --mode pt --ptwrite needs ptwrite)";
  if (costs.empty()) return fine(found);
  return limited(found, fmt::format("record --mode pt works, but {}", fmt::join(costs, "; ")),
                 "use a newer Intel processor (Skylake or later)");
}

}  // namespace

Finding check_intel_pt(const Machine& machine) {
  const std::string device = fmt::format("{}/intel_pt", kDevices);
  if (!machine.access_problem(device, Right::exists).empty()) return without_device(machine);
  if (const std::string problem = machine.access_problem(device + "/type", Right::read); !problem.empty()) {
    return limited(fmt::format("{} is there but not readable: {}", device, problem), kWithoutTrace,
                   as_root(machine, fmt::format("chmod -R a+rX {}", device)));
  }
  const Finding rights = check_perf_rights(machine);
  if (rights.status != CheckStatus::ok)
    return limited("available, but not permitted: " + rights.finding, kWithoutTrace, rights.remedy);
  return with_device(machine);
}

}  // namespace heddle
