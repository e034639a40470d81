// The processor: how many threads really run at once, and whether their clocks can be compared.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

// The kernel's list form, "0-3,8": how many are named.
size_t count_listed(std::string_view list) {
  size_t count = 0;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    size_t first = 0, last = 0;
    const char* const end = range.data() + range.size();
    const auto [after, code] = std::from_chars(range.data(), end, first);
    if (code != std::errc()) return 0;
    last = first;
    if (after != end && *after == '-') std::from_chars(after + 1, end, last);
    if (last >= first) count += last - first + 1;
  }
  return count;
}

}  // namespace

Finding check_cpu(const Machine& machine) {
  const std::string info = machine.read("/proc/cpuinfo").value_or("");
  const std::string model = field(info, "model name"), vendor = field(info, "vendor_id");
  if (vendor.empty()) {
    return limited("not an x86-64 processor, as far as /proc/cpuinfo says",
                   "heddle's runtimes and memory models (sc, tso, pso) are made for x86-64",
                   "use a machine with an x86-64 processor");
  }
  return fine(fmt::format("{} ({})", model.empty() ? "unnamed" : model, vendor));
}

Finding check_core_count(const Machine& machine) {
  // The kernel's view of this process: includes taskset, cpusets and containers.
  const size_t usable =
      count_listed(field(machine.read("/proc/self/status").value_or(""), "Cpus_allowed_list"));
  const size_t online = count_listed(setting(machine, "/sys/devices/system/cpu/online"));
  std::string found = usable == 0 ? "unknown" : fmt::format("{}", usable);
  if (online != 0) found += fmt::format(" of {} online", online);
  if (usable != 1) return fine(found);
  constexpr const char* kMeaning =
      "record: threads never run at the same time, so most races stay hidden; run, hunt and check do not "
      "depend on it";
  return limited(found, kMeaning,
                 online > 1
                     ? fmt::format("taskset -pc 0-{} $$  (or give the container or virtual machine more cores)",
                                   online - 1)
                     : "give this machine a second core, or use: heddle hunt");
}

Finding check_clock(const Machine& machine) {
  constexpr const char* kMeaning =
      "recordings carry no comparable time stamps: solve has fewer order facts and takes longer on long "
      "recordings";
  const bool constant = cpu_has(machine, "constant_tsc"), nonstop = cpu_has(machine, "nonstop_tsc");
  const std::string source =
      setting(machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!constant || !nonstop) {
    return limited(fmt::format("TSC without {}", !constant && !nonstop ? "constant_tsc and nonstop_tsc"
                                                 : !constant           ? "constant_tsc"
                                                                       : "nonstop_tsc"),
                   kMeaning,
                   cpu_has(machine, "hypervisor")
                       ? "let the virtual machine see it (QEMU: -cpu host,+invtsc)"
                       : "nothing on this processor; solve works without time stamps");
  }
  // The kernel gives up the TSC when it sees the cores' counters drift apart; a guest often prefers the host's
  // clock.
  if (source == "hpet" || source == "acpi_pm" || source == "jiffies") {
    return limited(fmt::format("TSC is invariant, but the kernel chose {}: it found the TSC unstable", source),
                   kMeaning, "sudo dmesg | grep -i tsc  (shows why; often cured by a firmware update)");
  }
  return fine("TSC is invariant" + (source.empty() ? "" : fmt::format("; kernel clock: {}", source)));
}

}  // namespace heddle
