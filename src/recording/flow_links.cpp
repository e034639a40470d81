#include "recording/flow_links.h"

#include <algorithm>
#include <tuple>

namespace heddle {
namespace {

// A write of a granule, by the write before it there.
struct Next {
  uint64_t granule = 0;
  uint32_t slot = 0;
  uint64_t after = 0;
  size_t thread = 0;
  uint64_t number = 0;
  auto key() const { return std::tuple(granule, slot, after); }
};

std::vector<Next> next_writes(const std::vector<FlowThread>& threads) {
  std::vector<Next> all;
  for (size_t i = 0; i < threads.size(); ++i)
    for (const FlowVersion& version : threads[i].versions)
      if (!version.read && version.number <= threads[i].events)
        all.push_back({.granule = version.granule,
                       .slot = version.slot,
                       .after = version.after,
                       .thread = i,
                       .number = version.number});
  std::ranges::sort(all, {}, &Next::key);
  return all;
}

}  // namespace

void resolve_links(std::vector<FlowThread>& threads) {
  const std::vector<Next> writes = next_writes(threads);
  if (writes.empty()) return;
  for (size_t i = 0; i < threads.size(); ++i) {
    for (const FlowVersion& version : threads[i].versions) {
      if (version.number > threads[i].events) continue;
      if (version.slot != threads[i].slot && version.after != 0)
        threads[i].edges.push_back({.number = version.number, .slot = version.slot, .after = version.after});
      if (!version.read) continue;
      const auto next = std::ranges::lower_bound(
          writes, std::tuple(version.granule, version.slot, version.after), {}, &Next::key);
      if (next == writes.end() || next->key() != std::tuple(version.granule, version.slot, version.after) ||
          next->thread == i)
        continue;
      threads[next->thread].edges.push_back(
          {.number = next->number, .slot = threads[i].slot, .after = version.number});
    }
  }
  for (FlowThread& thread : threads) std::ranges::sort(thread.edges, {}, &FlowEdge::number);
}

}  // namespace heddle
