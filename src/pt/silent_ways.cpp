#include "pt/silent_ways.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <deque>
#include <tuple>

namespace heddle {

const SilentWays::Blocks& SilentWays::to(const llvm::BasicBlock& from, const llvm::BasicBlock* target) {
  const auto [found, added] = known_.try_emplace({&from, target});
  Blocks& out = found->second;
  if (!added) return out;
  const auto is_end = [&](const llvm::BasicBlock& block) {
    return target != nullptr ? &block == target : llvm::isa<llvm::ReturnInst>(block.getTerminator());
  };
  std::vector<std::tuple<size_t, size_t, const llvm::BasicBlock*>> distances;
  llvm::DenseSet<const llvm::BasicBlock*> each;
  for (const llvm::BasicBlock* first : llvm::successors(&from)) {
    if (!each.insert(first).second || (first->isLandingPad() && target != first)) continue;
    std::deque<std::pair<size_t, const llvm::BasicBlock*>> open = {{0, first}};
    llvm::DenseSet<const llvm::BasicBlock*> seen = {first};
    while (!open.empty()) {
      const auto [distance, block] = open.front();
      open.pop_front();
      if (is_end(*block)) {
        distances.emplace_back(distance, distances.size(), first);
        break;
      }
      if (target != nullptr && named_.contains(block)) continue;
      for (const llvm::BasicBlock* next : llvm::successors(block))
        if (!next->isLandingPad() && seen.insert(next).second) open.emplace_back(distance + 1, next);
    }
  }
  std::ranges::sort(distances);
  for (const auto& [distance, number, way] : distances) out.push_back(way);
  if (out.empty() && target == nullptr)
    for (const llvm::BasicBlock* next : llvm::successors(&from))
      if (!next->isLandingPad()) out.push_back(next);
  return out;
}

}  // namespace heddle
