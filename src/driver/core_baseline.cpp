#include "driver/core_baseline.h"

#include <set>

namespace heddle {

std::vector<BaselineTry> first_of_baseline(const RunConflicts& run, uint64_t most) {
  std::vector<BaselineTry> out;
  std::set<std::pair<size_t, uint32_t>> seen;
  uint64_t number = 0;
  for (size_t i = 0; i < run.events().size(); ++i)
    for (uint32_t next = 0; next < run.threads(); ++next) {
      if (next == run.events()[i].thread || !run.can_go_on(next, i)) continue;
      if (++number > most) return out;
      const std::optional<size_t> at = run.matters_at(i, next);
      if (at && seen.insert({*at, next}).second) out.push_back({*at, next, number});
    }
  return out;
}

}  // namespace heddle
