#include "driver/written_alone.h"

#include <algorithm>
#include <set>

#include "abi/sync_kind.h"

namespace heddle {

WrittenAlone::WrittenAlone(const std::vector<heddle_event>& events,
                           const std::vector<heddle_thread_entry>& created, uint32_t thread,
                           const std::vector<MemoryDifference>& variables) {
  for (const MemoryDifference& variable : variables)
    if (!variable.pointer)
      variables_.emplace(
          variable.address,
          Variable{.core = variable.failing,
                   .mask = variable.size >= 8 ? ~uint64_t{0} : (uint64_t{1} << variable.size * 8) - 1});
  const uint32_t creator = created[thread].creator;
  bool exists = thread == creator;  // the main thread
  uint32_t children = 0;            // of the creator
  uint64_t own = 0;
  std::set<uint32_t> of_its_like;  // instructions
  for (const heddle_event& event : events) {
    if (event.thread == thread) ++own;
    const uint32_t kind = event.kind - HEDDLE_EVENT_sync;
    if (kind == HEDDLE_SYNC_thread_create || kind == HEDDLE_SYNC_thread_start_cxx)
      exists |= event.thread == creator && children++ == created[thread].child;
    const bool update = event.kind == HEDDLE_EVENT_update;
    if (!exists || (!update && event.kind != HEDDLE_EVENT_write)) continue;
    if (event.thread != thread) {
      variables_.erase(event.address);
      if (created[event.thread].start == created[thread].start) of_its_like.insert(event.site);
    } else if (const auto found = variables_.find(event.address); found != variables_.end()) {
      std::vector<Write>& writes = found->second.writes;
      if (writes.empty()) writes.push_back({0, update ? event.value : event.after});
      writes.push_back({own, update ? event.after : event.value});
      found->second.site = event.site;
    }
  }
  const bool has_its_like = std::ranges::count(created, created[thread].start, &heddle_thread_entry::start) > 1;
  std::erase_if(variables_, [&](const auto& of) {
    return of.second.writes.empty() || (has_its_like && !of_its_like.contains(of.second.site));
  });
}

size_t WrittenAlone::different(uint64_t events) const {
  return static_cast<size_t>(std::ranges::count_if(variables_, [&](const auto& of) {
    const Variable& variable = of.second;
    const auto behind = std::ranges::upper_bound(variable.writes, events, {}, &Write::number);
    return ((std::prev(behind)->value ^ variable.core) & variable.mask) != 0;
  }));
}

}  // namespace heddle
