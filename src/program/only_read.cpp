#include "program/only_read.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "program/backward_steps.h"
#include "program/calls.h"
#include "program/captures.h"

namespace heddle {
namespace {

// Both bound the work for each argument, so that the whole stays linear.
constexpr size_t kMaxValues = 64;
constexpr unsigned kMaxDepth = 8;  // calls inside calls

// Gives the same pointer, or one close to it.
bool hands_on(const llvm::User& user) {
  return llvm::isa<llvm::GEPOperator, llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(user) &&
         user.getType()->isPointerTy();
}

// What is left of a pointer, when a number is taken from it, is a pointer.
bool is_difference_or_comparison(const llvm::User& user) {
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&user);
  return llvm::isa<llvm::ICmpInst>(user) ||
         (operation != nullptr && operation->getOpcode() == llvm::Instruction::Sub &&
          llvm::isa<llvm::PtrToIntOperator>(operation->getOperand(1)));
}

bool reads_only(const llvm::CallBase& call, unsigned argument, const Effects& effects) {
  if (keeps(call, argument, effects) || effects.sync != HEDDLE_SYNC_none ||
      effects.allocation != AllocationKind::none || argument >= call.getFunctionType()->getNumParams())
    return false;
  return llvm::none_of(effects.memory, [&](const MemoryEffect& effect) {
    return effect.writes && effect.place.argument == static_cast<int>(argument);
  });
}

}  // namespace

bool OnlyRead::only_read(const llvm::Argument& argument) {
  if (!argument.getType()->isPointerTy() || argument.hasByValAttr()) return false;
  // Functions that are called through pointers take what others take that are called in their place.
  if (argument.getParent()->hasAddressTaken()) return false;
  const auto known = known_.find(&argument);
  if (known != known_.end() || depth_ == kMaxDepth) return known != known_.end() && known->second;
  known_[&argument] = false;  // for a function that calls itself
  ++depth_;
  const bool found = follow(argument);
  --depth_;
  return known_[&argument] = found;
}

bool OnlyRead::follow(const llvm::Argument& argument) {
  llvm::SmallVector<const llvm::Value*, 16> todo{&argument};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!todo.empty()) {
    const llvm::Value* value = todo.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (seen.size() > kMaxValues) return false;
    for (const llvm::Use& use : value->uses()) {
      if (!hands_on(*use.getUser())) {
        if (!reads(argument, use)) return false;
        continue;
      }
      const auto* step = llvm::dyn_cast<llvm::GEPOperator>(use.getUser());
      if (step != nullptr && steps_back(*step, argument.getParent()->getDataLayout()))
        look_back_.insert(&argument);
      todo.push_back(use.getUser());
    }
  }
  return true;
}

bool OnlyRead::reads(const llvm::Argument& argument, const llvm::Use& use) {
  const llvm::User& user = *use.getUser();
  if (llvm::isa<llvm::LoadInst, llvm::ICmpInst>(user)) return true;
  if (llvm::isa<llvm::PtrToIntInst>(user))
    return llvm::all_of(user.users(),
                        [](const llvm::User* each) { return is_difference_or_comparison(*each); });
  if (const auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(&user))
    return &use == &transfer->getRawSourceUse();
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&user);
  if (intrinsic != nullptr) return intrinsic->isAssumeLikeIntrinsic() && intrinsic->getType()->isVoidTy();
  return llvm::isa<llvm::CallBase>(user) && call_reads(argument, use);
}

bool OnlyRead::call_reads(const llvm::Argument& argument, const llvm::Use& use) {
  const auto& call = llvm::cast<llvm::CallBase>(*use.getUser());
  if (!call.isArgOperand(&use) || call.isByValArgument(call.getArgOperandNo(&use))) return false;
  const unsigned number = call.getArgOperandNo(&use);
  const CallInfo info = classify_call(call, effects_);
  if (info.effects != nullptr) return reads_only(call, number, *info.effects);
  if (info.cls != CallClass::inside || info.callee->getFunctionType() != call.getFunctionType() ||
      number >= info.callee->arg_size() || !only_read(*info.callee->getArg(number)))
    return false;
  if (looks_back(*info.callee->getArg(number))) look_back_.insert(&argument);
  return true;
}

}  // namespace heddle
