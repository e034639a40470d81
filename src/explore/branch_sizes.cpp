#include "explore/branch_sizes.h"

#include <algorithm>
#include <ranges>

namespace heddle {

void BranchSizes::note(size_t depth, uint64_t size) {
  constexpr double kKept = 0.98;  // of what is known, with each further branch: later ones are smaller
  if (depth >= means_.size()) means_.resize(depth + 1);
  Mean& mean = means_[depth];
  mean.sum = mean.sum * kKept + static_cast<double>(size);
  mean.weight = mean.weight * kKept + 1;
}

double BranchSizes::expected(size_t depth) const {
  if (means_.empty()) return 0;
  const auto is_known = [](const Mean& mean) { return mean.weight > 0; };
  const auto known =
      std::ranges::find_if(means_ | std::views::drop(std::min(depth, means_.size() - 1)), is_known);
  return known->sum / known->weight;
}

void UnitSizes::carried_out(uint64_t unit, uint64_t size, const std::vector<uint64_t>& found) {
  Unit& done = open_[unit];
  if (unit != 0) --waiting_[done.depth];
  done.carried_out = true;
  done.size += size;
  done.open = found.size();
  const size_t depth = done.depth + (found.size() > 1);
  if (depth >= waiting_.size()) waiting_.resize(depth + 1);
  waiting_[depth] += found.size();
  for (const uint64_t each : found) open_[each] = {.parent = unit, .depth = depth};
  for (auto at = open_.find(unit); at != open_.end() && at->second.carried_out && at->second.open == 0;) {
    const Unit closed = at->second;
    open_.erase(at);
    at = open_.find(closed.parent);
    if (at == open_.end()) break;
    Unit& parent = at->second;
    --parent.open;
    parent.size += closed.size;
    if (parent.closed++ > 0) sizes_.note(closed.depth, closed.size);
  }
}

double UnitSizes::remaining() const {
  double out = 0;
  for (size_t depth = 0; depth < waiting_.size(); ++depth)
    out += static_cast<double>(waiting_[depth]) * sizes_.expected(depth);
  return out;
}

void UnitSizes::begin_anew() {
  open_.clear();
  waiting_.clear();
}

}  // namespace heddle
