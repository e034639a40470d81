#include "driver/core_candidates.h"

#include <algorithm>

namespace heddle {

std::vector<size_t> critical_in(const heddle_event& event, const std::vector<CriticalVariable>& variables) {
  std::vector<size_t> out;
  for (size_t i = 0; i < variables.size(); ++i) {
    const MemoryDifference& where = variables[i].difference;
    const bool sync = event.kind >= HEDDLE_EVENT_sync;
    if (sync != variables[i].sync) continue;
    if (sync ? event.address == where.address
             : event.address < where.address + where.size &&
                   where.address < event.address + std::max<uint64_t>(event.size, 1))
      out.push_back(i);
  }
  return out;
}

bool PreemptionPoints::accesses_later(uint32_t thread, size_t event, const std::set<size_t>& variables) const {
  if (thread >= accesses.size()) return false;
  return std::ranges::any_of(accesses[thread], [&](const auto& access) {
    return access.first >= event && variables.contains(access.second);
  });
}

PreemptionPoints preemption_points(const PassingRun& run, bool in_order) {
  PreemptionPoints out;
  const std::vector<heddle_event>& events = run.execution.kept_events;
  out.accesses.resize(run.execution.created.size());
  const size_t end = in_order ? events.size() : std::min<size_t>(run.aligned_events, events.size());
  // The last one before the aligned point has priority 1.
  std::map<size_t, uint64_t> priority;
  std::vector<std::vector<size_t>> critical(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    critical[i] = critical_in(events[i], run.critical);
    for (const size_t variable : critical[i]) out.accesses[events[i].thread].emplace_back(i, variable);
  }
  for (size_t i = end; i-- > 0;)
    if (!critical[i].empty()) priority.emplace(i, priority.size() + 1);
  out.lowest = 2 * priority.size() + 2;

  enum class Point : uint8_t { none, access, sync };
  std::vector<Point> kinds(events.size(), Point::none);
  std::vector<Point> behind(run.execution.created.size(),
                            Point::none);  // what the thread's last event makes of its next
  for (size_t i = 0; i < events.size(); ++i) {
    const bool sync = events[i].kind >= HEDDLE_EVENT_sync;
    const Point own = sync ? Point::sync : !critical[i].empty() || in_order ? Point::access : Point::none;
    kinds[i] = std::max(own, behind[events[i].thread]);
    behind[events[i].thread] = own;
  }
  for (size_t i = 0; i < end; ++i)
    if (kinds[i] != Point::none)
      out.points.push_back({.event = i, .thread = events[i].thread, .weight = out.lowest, .critical = {}});
  // Backwards: what a thread accesses up to its next synchronisation.
  std::vector<PreemptionPoint> next(run.execution.created.size(), {.weight = out.lowest});
  size_t point = out.points.size();
  for (size_t i = end; i-- > 0;) {
    PreemptionPoint& block = next[events[i].thread];
    if (!critical[i].empty()) {
      block.critical.insert(critical[i].begin(), critical[i].end());
      block.weight = std::min(block.weight, 2 * priority.at(i));
    }
    if (kinds[i] == Point::none) continue;
    out.points[--point].critical = block.critical;
    // Inside a critical section the others would soon have to wait: of equal points those at synchronisation
    // come first.
    out.points[point].weight =
        block.weight == out.lowest ? out.lowest : block.weight + (kinds[i] == Point::sync ? 0 : 1);
    if (kinds[i] == Point::sync) block = {.weight = out.lowest};
  }
  return out;
}

}  // namespace heddle
