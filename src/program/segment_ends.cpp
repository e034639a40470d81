#include "program/segment_ends.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

namespace heddle {
namespace {

bool may_return_twice(const llvm::CallBase& call) {
  // __builtin_setjmp is an intrinsic without the attribute.
  return call.hasFnAttr(llvm::Attribute::ReturnsTwice) ||
         call.getIntrinsicID() == llvm::Intrinsic::eh_sjlj_setjmp;
}

}  // namespace

bool ends_segment(const llvm::CallBase& call, llvm::function_ref<bool(const llvm::CallBase&)> cuts) {
  if (call.isMustTailCall()) return false;
  if (may_return_twice(call)) return true;
  if (call.getIntrinsicID() != llvm::Intrinsic::not_intrinsic) return false;
  return cuts && cuts(call);
}

bool edges_carry_no_code(const llvm::Instruction& terminator) {
  return llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(terminator);
}

}  // namespace heddle
