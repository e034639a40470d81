#include "pt/core_schedule.h"

#include <algorithm>

namespace heddle {

CoreSchedule::CoreSchedule(const PerfFile& file) {
  for (const PerfEvent& event : file.events) {
    if (!event.sample.cpu || !event.sample.time) continue;
    std::vector<Change>& core = cores_[*event.sample.cpu];
    const Place self{.pid = event.sample.pid.value_or(0), .tid = event.sample.tid.value_or(0)};
    if (const auto* change = std::get_if<PerfSwitch>(&event.what)) {
      if (!change->out) {
        core.push_back({*event.sample.time, event.offset, self});
      } else {
        // Per-thread recordings do not say who comes next: nobody whom we trace.
        core.push_back({*event.sample.time,
                        event.offset,
                        {.pid = change->other_pid.value_or(0), .tid = change->other_tid.value_or(0)}});
      }
    } else if (std::holds_alternative<PerfTraceStart>(event.what)) {
      const auto& start = std::get<PerfTraceStart>(event.what);
      core.push_back({*event.sample.time, event.offset, {.pid = start.pid, .tid = start.tid}});
    }
  }
  for (auto& [core, changes] : cores_)
    std::ranges::sort(changes, {}, [](const Change& each) { return std::pair(each.time, each.record); });
}

std::optional<CoreSchedule::Place> CoreSchedule::at(uint32_t core, uint64_t time) const {
  const auto found = cores_.find(core);
  if (found == cores_.end()) return std::nullopt;
  const auto after = std::ranges::upper_bound(found->second, time, {}, &Change::time);
  if (after == found->second.begin()) return std::nullopt;
  return std::prev(after)->place;
}

std::vector<CoreSchedule::Place> CoreSchedule::between(uint32_t core, uint64_t begin, uint64_t end) const {
  std::vector<Place> out;
  if (const auto first = at(core, begin); first && first->tid != 0) out.push_back(*first);
  const auto found = cores_.find(core);
  if (found == cores_.end()) return out;
  for (const Change& change : found->second)
    if (change.time > begin && change.time <= end && change.place.tid != 0) out.push_back(change.place);
  return out;
}

}  // namespace heddle
