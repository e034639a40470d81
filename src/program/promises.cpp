#include "program/promises.h"

#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace heddle {
namespace {

llvm::AttributeMask promising_attributes() {
  llvm::AttributeMask mask;
  for (const auto kind : {llvm::Attribute::Range, llvm::Attribute::NonNull, llvm::Attribute::Alignment})
    mask.addAttribute(kind);
  return mask;
}

// "The special case is poison": abs of the smallest number, zeros in front of or behind nothing but zeros.
void define_special_case(llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
      call->setArgOperand(1, llvm::ConstantInt::getFalse(call->getContext()));
      break;
    default:
      break;
  }
}

// A call promises about what it passes, a function about what it takes and gives back.
void drop_passing_promises(llvm::CallBase& call, const KnownValues& known) {
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  if (callee == nullptr) return;
  for (const llvm::Argument& argument : callee->args())
    if (known.needed(argument)) call.removeParamAttrs(argument.getArgNo(), promising_attributes());
  if (known.needed(call)) const_cast<llvm::Function*>(callee)->removeRetAttrs(promising_attributes());
}

}  // namespace

void drop_promises(llvm::Module& module, const KnownValues& known) {
  for (llvm::Function& function : module) {
    for (const llvm::Argument& argument : function.args())
      if (known.needed(argument)) function.removeParamAttrs(argument.getArgNo(), promising_attributes());
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) drop_passing_promises(*call, known);
      if (!known.needed(instruction)) continue;
      instruction.dropPoisonGeneratingAnnotations();
      define_special_case(instruction);
    }
  }
}

}  // namespace heddle
