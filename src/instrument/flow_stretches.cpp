#include "instrument/flow_stretches.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace heddle {

// The least fixpoint: a block on a cycle never gets there.
void FlowStretchEnds::find_bounded() {
  if (std::exchange(found_, true)) return;
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock& block : function_) {
      if (first_of(block) != First::nothing || bounded_.lookup(&block)) continue;
      bool all = true;
      for (const llvm::BasicBlock* next : llvm::successors(&block))
        all = all && (first_of(*next) != First::nothing || bounded_.lookup(next));
      if (all) changed = bounded_[&block] = true;
    }
  }
}

// Whether a stretch may be open where the block begins: if it is left open here, another one follows on some
// way.
bool FlowStretchEnds::goes_on(llvm::BasicBlock& block) {
  if (first_of(block) != First::nothing) return first_of(block) == First::access;
  if (block.isEHPad() || !bounded_.lookup(&block)) return false;
  if (const auto known = goes_on_.find(&block); known != goes_on_.end()) return known->second;
  return goes_on_[&block] = leave(block);
}

bool FlowStretchEnds::leave(llvm::BasicBlock& block) {
  if (!llvm::isa<llvm::BranchInst, llvm::SwitchInst>(block.getTerminator())) return false;
  bool any = false;
  for (llvm::BasicBlock* next : llvm::successors(&block)) any = goes_on(*next) || any;
  if (any) left_[&block] = true;
  return any;
}

bool FlowStretchEnds::leave_open(llvm::BasicBlock& block) {
  find_bounded();
  return leave(block);
}

std::vector<llvm::BasicBlock*> FlowStretchEnds::split() {
  std::vector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>> edges;
  for (const auto& [block, left] : left_) {
    llvm::SmallPtrSet<llvm::BasicBlock*, 4> seen;
    for (llvm::BasicBlock* next : llvm::successors(block))
      if (!goes_on(*next) && seen.insert(next).second) edges.emplace_back(block, next);
  }
  std::vector<llvm::BasicBlock*> out;
  for (const auto& [from, to] : edges) {
    llvm::BasicBlock* between = llvm::BasicBlock::Create(function_.getContext(), "", &function_, to);
    auto* branch = llvm::BranchInst::Create(to, between);
    branch->setDebugLoc(from->getTerminator()->getDebugLoc());
    from->getTerminator()->replaceSuccessorWith(to, between);
    // Several edges of a switch become one.
    for (llvm::PHINode& phi : to->phis()) {
      llvm::Value* value = phi.getIncomingValueForBlock(from);
      while (phi.getBasicBlockIndex(from) >= 0) phi.removeIncomingValue(from, false);
      phi.addIncoming(value, between);
    }
    out.push_back(between);
  }
  return out;
}

}  // namespace heddle
