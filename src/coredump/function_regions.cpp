#include "coredump/function_regions.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include <algorithm>

namespace heddle {

FunctionRegions::FunctionRegions(const llvm::Function& function)
    : flow_(function), loops_(flow_.size()), reached_(flow_.size()) {
  // The analyses take functions that may be changed, and change nothing.
  llvm::DominatorTree tree(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(tree);
  for (uint32_t b = 0; b < flow_.size(); ++b) {
    for (const llvm::Loop* loop = loops.getLoopFor(flow_.block(b)); loop != nullptr;
         loop = loop->getParentLoop())
      loops_[b].push_back(flow_.number(loop->getHeader()));
    std::ranges::reverse(loops_[b]);
  }
}

bool FunctionRegions::in_loop(uint32_t header, uint32_t block) const {
  return std::ranges::find(loops_[block], header) != loops_[block].end();
}

bool FunctionRegions::reaches_forward(uint32_t from, uint32_t to) const {
  std::vector<bool>& reached = reached_[from];
  if (reached.empty()) {
    reached.resize(flow_.size());
    std::vector<uint32_t> open = {from};
    reached[from] = true;
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t next : flow_.successors(at))
        if (!flow_.retreating(at, next) && !reached[next]) {
          reached[next] = true;
          open.push_back(next);
        }
    }
  }
  return reached[to];
}

bool FunctionRegions::may_reach(uint32_t from, uint32_t to) const {
  if (reaches_forward(from, to)) return true;
  const Branches above = flow_.controlled_by(to);
  return std::ranges::any_of(loops_[from], [&](uint32_t header) {
    return !in_loop(header, to) && reaches_forward(header, to) &&
           std::ranges::none_of(above, [&](const auto& branch) { return in_loop(header, branch.first); });
  });
}

// Branches of the same iteration of the loop (none: of the function outside all loops) on which the block
// depends.
FunctionRegions::Branches FunctionRegions::forward_dependences(uint32_t block,
                                                               std::optional<uint32_t> loop) const {
  Branches all = flow_.controlled_by(block);
  std::erase_if(all, [&](const auto& branch) {
    const auto [from, to] = branch;
    return from == block || flow_.retreating(from, to) || !reaches_forward(to, block) ||
           (loop && !in_loop(*loop, from));
  });
  return all;
}

uint32_t FunctionRegions::closest_common(const Branches& branches) const {
  uint32_t common = branches[0].first;
  for (const auto& [from, to] : branches)
    while (!flow_.dominates(common, from)) common = static_cast<uint32_t>(flow_.immediate_dominator(common));
  return common;
}

// Aggregatable (a || b): every predicate behind the first depends on nothing but one of the others.
bool FunctionRegions::is_chain(const Branches& branches, uint32_t first, std::optional<uint32_t> loop) const {
  const auto among = [&](uint32_t block) {
    return std::ranges::any_of(branches, [&](const auto& branch) { return branch.first == block; });
  };
  return among(first) && std::ranges::all_of(branches, [&](const auto& branch) {
           if (branch.first == first) return true;
           const Branches above = forward_dependences(branch.first, loop);
           return above.size() == 1 && among(above[0].first);
         });
}

std::vector<Region> FunctionRegions::regions_of(uint32_t block) const {
  std::vector<Region> out;
  std::vector<uint32_t> loops = loops_[block];
  const auto leave_loop = [&](uint32_t& at) {
    out.push_back({Region::Kind::loop, loops.back(), 0});
    at = loops.back();
    loops.pop_back();
  };
  // Ends: every step goes to a block that dominates or comes before this one, or out of a loop.
  for (uint32_t at = block;;) {
    const std::optional<uint32_t> loop = loops.empty() ? std::nullopt : std::optional(loops.back());
    const Branches branches = forward_dependences(at, loop);
    if (branches.empty()) {
      if (!loop) break;
      leave_loop(at);
      continue;
    }
    uint32_t up = branches[0].first;
    if (branches.size() == 1) {
      out.push_back({Region::Kind::branch, up, branches[0].second});
    } else {
      up = closest_common(branches);
      const bool chain = is_chain(branches, up, loop);
      out.push_back({chain ? Region::Kind::either : Region::Kind::merged, up, 0});
    }
    if (loop && !in_loop(*loop, up)) {
      leave_loop(at);
      continue;
    }
    // A predicate of a loop that has been left: how often that went round is over and forgotten.
    for (const uint32_t header : loops_[up])
      if (std::ranges::find(loops, header) == loops.end()) {
        up = header;
        break;
      }
    if (up == at) break;
    at = up;
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace heddle
