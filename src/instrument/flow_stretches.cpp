#include "instrument/flow_stretches.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace heddle {

// The least fixpoint: a block on a cycle never gets there.
void FlowStretches::find_bounded() {
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

// A block can be put on each edge that leads here.
static bool can_be_entered_anew(llvm::BasicBlock& block) {
  return !block.isEHPad() && llvm::all_of(llvm::predecessors(&block), [](const llvm::BasicBlock* before) {
    return llvm::isa<llvm::BranchInst, llvm::SwitchInst, llvm::InvokeInst>(before->getTerminator());
  });
}

// Whether a stretch may be open where the block begins: another access follows on some way, soon.
bool FlowStretches::goes_on(llvm::BasicBlock& block) {
  if (first_of(block) != First::nothing) return first_of(block) == First::access && can_be_entered_anew(block);
  if (!bounded_.lookup(&block)) return false;
  if (const auto known = goes_on_.find(&block); known != goes_on_.end()) return known->second;
  const bool result = can_be_entered_anew(block) && may_leave(block);
  return goes_on_[&block] = result;
}

bool FlowStretches::may_leave(llvm::BasicBlock& block) {
  return llvm::isa<llvm::BranchInst, llvm::SwitchInst>(block.getTerminator()) &&
         llvm::any_of(llvm::successors(&block), [&](llvm::BasicBlock* next) { return goes_on(*next); });
}

bool FlowStretches::leave_open(llvm::BasicBlock& block) {
  find_bounded();
  if (!may_leave(block)) return false;
  left_.insert(&block);
  for (llvm::BasicBlock* next : llvm::successors(&block))  // blocks with nothing are left as they are entered
    if (first_of(*next) == First::nothing && goes_on(*next) && !left_.contains(next)) leave_open(*next);
  return true;
}

bool FlowStretches::is_open_at(llvm::BasicBlock& block) {
  return goes_on(block) && llvm::any_of(llvm::predecessors(&block),
                                        [&](llvm::BasicBlock* before) { return left_.contains(before); });
}

llvm::BasicBlock* FlowStretches::block_between(llvm::BasicBlock* from, llvm::BasicBlock* to) {
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
  return between;
}

FlowStretches::Edges FlowStretches::split() {
  using Edge = std::pair<llvm::BasicBlock*, llvm::BasicBlock*>;
  llvm::MapVector<Edge, bool> begins, ends;
  for (llvm::BasicBlock& block : function_) {
    if (is_open_at(block))
      for (llvm::BasicBlock* before : llvm::predecessors(&block))
        if (!left_.contains(before)) begins[{before, &block}] = true;
    if (left_.contains(&block))
      for (llvm::BasicBlock* next : llvm::successors(&block))
        if (!goes_on(*next)) ends[{&block, next}] = true;
  }
  Edges out;
  for (const auto& [edge, is] : begins) out.begins.push_back(block_between(edge.first, edge.second));
  for (const auto& [edge, is] : ends) out.ends.push_back(block_between(edge.first, edge.second));
  return out;
}

}  // namespace heddle
