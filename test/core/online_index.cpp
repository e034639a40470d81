#include "online_index.h"

#include <fmt/core.h>

#include <algorithm>

namespace heddle {

void OnlineFrame::enter(uint32_t block) {
  const ControlFlow& flow = regions_->flow();
  if (block_) {
    const uint32_t from = *block_;
    const bool decides = flow.successors(from).size() > 1;
    // Out of loops: what happened in them is over but for the branch that left them.
    const auto left = std::ranges::find_if(
        stack_, [&](const Entry& entry) { return entry.loop && !regions_->in_loop(entry.block, block); });
    stack_.erase(left, stack_.end());
    // Another round.
    const auto round =
        std::ranges::find_if(stack_, [&](const Entry& entry) { return entry.loop && entry.block == block; });
    if (round != stack_.end()) {
      stack_.erase(std::next(round), stack_.end());
      ++round->count;
    } else {
      if (decides) stack_.push_back({.block = from, .successor = block});  // rule 3
      while (!stack_.empty() && !stack_.back().loop &&                     // rule 4
             flow.immediate_post_dominator(stack_.back().block) == static_cast<int32_t>(block))
        stack_.pop_back();
    }
  }
  block_ = block;
  const std::vector<uint32_t>& headers = regions_->loops_of(block);
  const bool is_header = !headers.empty() && headers.back() == block;
  // A header depends on what is around its loop.
  const bool known =
      std::ranges::any_of(stack_, [&](const Entry& entry) { return entry.loop && entry.block == block; });
  depth_[block] = known ? stack_.size() - 1 : stack_.size();
  if (is_header && !known) stack_.push_back({.loop = true, .block = block, .count = 1});
}

std::string OnlineFrame::text() const {
  std::string out;
  for (const Entry& entry : stack_)
    out += entry.loop ? fmt::format(" loop{}x{}", entry.block, entry.count)
                      : fmt::format(" {}->{}", entry.block, entry.successor);
  return out;
}

OnlineFrame::Comparison OnlineFrame::compare(uint32_t block,
                                             const std::vector<std::optional<uint64_t>>& counts) const {
  Comparison out;
  if (block_ != block) {
    out.difference = fmt::format("it is in block {}, not in {}", block_.value_or(0), block);
    return out;
  }
  const std::vector<Region> recovered = regions_->regions_of(block);
  size_t at = stack_.size(), loop = regions_->loops_of(block).size();
  for (size_t i = recovered.size(); i-- > 0;) {
    const Region& region = recovered[i];
    const auto differs = [&](const char* what) {
      if (out.difference.empty())
        out.difference =
            fmt::format("{} {} of {} at block {}; online:{}", what, region.block, i, block, text());
    };
    switch (region.kind) {
      case Region::Kind::loop: {
        if (at == 0 || !stack_[at - 1].loop || stack_[at - 1].block != region.block)
          return differs("loop"), out;
        ++out.loops;
        const std::optional<uint64_t> count =
            loop == 0 || loop > counts.size() ? std::nullopt : counts[loop - 1];
        --loop;
        if (!count)
          ++out.unknown;
        else if (*count != stack_[at - 1].count)
          differs(fmt::format("count {} of loop", *count).c_str());
        --at;
        break;
      }
      case Region::Kind::branch:
        if (at == 0 || stack_[at - 1].loop || stack_[at - 1].block != region.block ||
            stack_[at - 1].successor != region.successor)
          return differs("branch"), out;
        --at;
        break;
      case Region::Kind::either:
      case Region::Kind::merged: {
        ++out.merged;
        // Of a loop that was left, only that it was entered is known.
        uint32_t up = region.block;
        for (const uint32_t header : regions_->loops_of(region.block))
          if (!regions_->in_loop(header, block)) {
            up = header;
            break;
          }
        const auto depth = depth_.find(up);
        const size_t from = at;
        while (at > 0 && !stack_[at - 1].loop && (depth == depth_.end() || at > depth->second)) --at;
        if (at == from) return differs("branches"), out;
        break;
      }
    }
  }
  if (at != 0 && out.difference.empty())
    out.difference = fmt::format("{} regions are missing at block {}; online:{}", at, block, text());
  return out;
}

}  // namespace heddle
