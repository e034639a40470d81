// Room: memory, maps, threads, disk.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/size.h"
#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr uint64_t kGiB = 1ull << 30;
constexpr uint64_t kLittleMemory = 2 * kGiB;  // one solver on a long recording
constexpr uint64_t kLittleDisk = kGiB;  // a few variants of a large program, or one recording of some minutes
constexpr int64_t kUsualMaps = 65530;   // the kernel's own default
constexpr uint64_t kFewThreads = 1024;

// A value of /proc/meminfo, "24682416 kB".
std::optional<uint64_t> memory(const Machine& machine, std::string_view key) {
  const std::string text = field(machine.read("/proc/meminfo").value_or(""), key);
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value * 1024;
}

// What the control group of this process may use (version 2, then 1); more than there is means: no limit.
uint64_t group_memory(const Machine& machine) {
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (const std::optional<int64_t> bytes = number_setting(machine, file))
      return static_cast<uint64_t>(*bytes);
  return kUnlimited;
}

constexpr const char* kNoCache =
    "every verb that makes an instrumented program fails: run, hunt, record, check, replay";
constexpr const char* kOtherCache = "export XDG_CACHE_HOME=/tmp/cache-$(id -un)  (or another folder of yours)";

}  // namespace

Finding check_memory(const Machine& machine) {
  const std::optional<uint64_t> total = memory(machine, "MemTotal"),
                                available = memory(machine, "MemAvailable");
  if (!total || !available) return fine("unknown");
  const uint64_t group = group_memory(machine);
  std::string found = fmt::format("{}, {} available", size_text(*total), size_text(*available));
  if (group < *total) found += fmt::format("; the control group allows {}", size_text(group));
  if (std::min(*available, group) >= kLittleMemory) return fine(found);
  return limited(found, "solve and check may run out of memory on long recordings and big programs",
                 "end other programs, and give solve and check --jobs 1");
}

Finding check_overcommit(const Machine& machine) {
  const std::string value = setting(machine, "/proc/sys/vm/overcommit_memory");
  if (value != "2") return fine(fmt::format("vm.overcommit_memory is {}", value.empty() ? "unknown" : value));
  return limited(
      "vm.overcommit_memory is 2: memory that is reserved but not used counts",
      "record and run reserve more address space than they use; programs with many threads may fail to start",
      sysctl(machine, "vm.overcommit_memory=0"));
}

Finding check_map_count(const Machine& machine) {
  const std::optional<int64_t> count = number_setting(machine, "/proc/sys/vm/max_map_count");
  if (!count) return fine("vm.max_map_count is unknown");
  const std::string found = fmt::format("vm.max_map_count is {}", *count);
  if (*count >= kUsualMaps) return fine(found);
  return limited(found, "record maps a file and run a stack per thread: programs with many threads may fail",
                 sysctl(machine, "vm.max_map_count=262144"));
}

Finding check_thread_limit(const Machine& machine) {
  const LimitValue limit = machine.limit(Limit::processes);
  if (limit.soft == kUnlimited) return fine("unlimited");
  const std::string found = fmt::format("at most {} for this user (ulimit -u)", limit.soft);
  if (limit.soft >= kFewThreads) return fine(found);
  return limited(found,
                 "pthread_create may fail in recorded programs, and check --jobs may not start its workers",
                 limit.hard > limit.soft ? "ulimit -S -u $(ulimit -H -u)"
                                         : "raise nproc in /etc/security/limits.d (then log in again)");
}

Finding check_cache(const Machine& machine) {
  const Result<CacheFolder> cache = machine.cache();
  if (!cache) {
    const Error& error = cache.error();
    return missing(error.what + (error.where.empty() ? "" : fmt::format(" ({})", error.where)), kNoCache,
                   error.next.empty() ? kOtherCache : error.next);
  }
  if (!cache->problem.empty()) {
    return missing(fmt::format("{}: {}", cache->path.string(), cache->problem), kNoCache, kOtherCache);
  }
  return fine(fmt::format("{}, writable, {} used", cache->path.string(), size_text(cache->used_bytes)));
}

Finding check_disk(const Machine& machine) {
  const Result<CacheFolder> cache = machine.cache();
  if (!cache || !cache->free_bytes) return fine("unknown");
  const std::string found = fmt::format("{} where the cache is", size_text(*cache->free_bytes));
  if (*cache->free_bytes >= kLittleDisk) return fine(found);
  return limited(
      found, "building instrumented programs may fail, and recordings in that file system may be cut short",
      fmt::format("rm -r {}  (it is made again when needed; holds {}), or point XDG_CACHE_HOME elsewhere",
                  shell_quote({(cache->path / "variants").string()}), size_text(cache->used_bytes)));
}

}  // namespace heddle
