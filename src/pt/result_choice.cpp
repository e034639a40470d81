#include "pt/result_choice.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

namespace heddle {
namespace {

class KnownConstants {
 public:
  KnownConstants(const llvm::CallBase& call, uint64_t result) : layout_(call.getModule()->getDataLayout()) {
    values_[&call] = llvm::ConstantInt::get(
        call.getContext(), llvm::APInt(64, result).zextOrTrunc(call.getType()->getIntegerBitWidth()));
  }

  llvm::Constant* value(const llvm::Value* value) const {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return const_cast<llvm::Constant*>(constant);
    return values_.lookup(value);
  }

  void compute(const llvm::Instruction& instruction) {
    if (llvm::Constant* result = fold(instruction))
      values_[&instruction] = result;
    else
      values_.erase(&instruction);
  }

  // All at once, as they are.
  void enter(const llvm::BasicBlock& block, const llvm::BasicBlock& from) {
    llvm::SmallVector<std::pair<const llvm::PHINode*, llvm::Constant*>> moves;
    for (const llvm::PHINode& phi : block.phis())
      moves.emplace_back(&phi, value(phi.getIncomingValueForBlock(&from)));
    for (const auto& [phi, constant] : moves)
      if (constant != nullptr)
        values_[phi] = constant;
      else
        values_.erase(phi);
  }

 private:
  llvm::Constant* fold(const llvm::Instruction& instruction) const {
    if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      llvm::Constant* yes = value(choice->getTrueValue());
      llvm::Constant* no = value(choice->getFalseValue());
      if (const auto* which = llvm::dyn_cast_or_null<llvm::ConstantInt>(value(choice->getCondition())))
        return which->isOne() ? yes : no;
      return yes == no ? yes : nullptr;
    }
    if (!llvm::isa<llvm::CmpInst, llvm::BinaryOperator, llvm::CastInst, llvm::FreezeInst>(instruction))
      return nullptr;
    llvm::SmallVector<llvm::Constant*> operands;
    for (const llvm::Value* operand : instruction.operands()) {
      operands.push_back(value(operand));
      if (operands.back() == nullptr) return nullptr;
    }
    if (llvm::isa<llvm::FreezeInst>(instruction)) return operands[0];
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction))
      return llvm::ConstantFoldCompareInstOperands(compare->getPredicate(), operands[0], operands[1], layout_);
    return llvm::ConstantFoldInstOperands(const_cast<llvm::Instruction*>(&instruction), operands, layout_);
  }

  const llvm::DataLayout& layout_;
  llvm::DenseMap<const llvm::Value*, llvm::Constant*> values_;
};

}  // namespace

bool path_allows(const llvm::CallBase& call, uint64_t result, std::span<const llvm::BasicBlock* const> blocks) {
  if (!call.getType()->isIntegerTy()) return true;
  KnownConstants known(call, result);
  const llvm::BasicBlock* block = call.getParent();
  const llvm::Instruction* first = call.isTerminator() ? nullptr : call.getNextNode();
  for (const llvm::BasicBlock* next : blocks) {
    for (const llvm::Instruction* at = first; at != nullptr && !at->isTerminator(); at = at->getNextNode()) {
      if (at == &call) return true;  // another time
      known.compute(*at);
    }
    const llvm::Instruction& end = *block->getTerminator();
    if (llvm::is_contained(llvm::successors(block), next) == false) return true;  // not all blocks are known
    const llvm::BasicBlock* leads = nullptr;
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&end);
        branch != nullptr && branch->isConditional()) {
      if (const auto* condition =
              llvm::dyn_cast_or_null<llvm::ConstantInt>(known.value(branch->getCondition())))
        leads = branch->getSuccessor(condition->isOne() ? 0 : 1);
    } else if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&end)) {
      if (auto* condition = llvm::dyn_cast_or_null<llvm::ConstantInt>(known.value(choice->getCondition())))
        leads = choice->findCaseValue(condition)->getCaseSuccessor();
    }
    if (leads != nullptr && leads != next) return false;
    known.enter(*next, *block);
    block = next;
    first = &*block->getFirstNonPHIIt();
  }
  return true;
}

}  // namespace heddle
