#include "program/outside_values.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "program/stored_bytes.h"

namespace heddle {
namespace {

// The user does no more with the address than access what is there.
bool only_accesses(const llvm::Use& use) {
  const llvm::User* user = use.getUser();
  if (llvm::isa<llvm::StoreInst>(user)) return use.getOperandNo() == llvm::StoreInst::getPointerOperandIndex();
  if (llvm::isa<llvm::AtomicRMWInst>(user))
    return use.getOperandNo() == llvm::AtomicRMWInst::getPointerOperandIndex();
  if (llvm::isa<llvm::AtomicCmpXchgInst>(user))
    return use.getOperandNo() == llvm::AtomicCmpXchgInst::getPointerOperandIndex();
  return llvm::isa<llvm::LoadInst, llvm::MemIntrinsic, llvm::LifetimeIntrinsic, llvm::DbgInfoIntrinsic,
                   llvm::VAStartInst, llvm::VAEndInst, llvm::VACopyInst>(user);
}

bool address_goes_anywhere(const llvm::AllocaInst& object) {
  llvm::SmallVector<const llvm::Value*, 8> open = {&object};
  while (!open.empty()) {
    for (const llvm::Use& use : open.pop_back_val()->uses()) {
      if (llvm::isa<llvm::GetElementPtrInst>(use.getUser())) {
        open.push_back(use.getUser());
      } else if (!only_accesses(use)) {
        return true;
      }
    }
  }
  return false;
}

bool asks_the_machine(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::readcyclecounter:
    case llvm::Intrinsic::readsteadycounter:
    case llvm::Intrinsic::read_register:
    case llvm::Intrinsic::frameaddress:
    case llvm::Intrinsic::returnaddress:
    case llvm::Intrinsic::addressofreturnaddress:
    case llvm::Intrinsic::sponentry:
    case llvm::Intrinsic::stacksave:
    case llvm::Intrinsic::thread_pointer:
    case llvm::Intrinsic::get_rounding:
    case llvm::Intrinsic::x86_rdtsc:
    case llvm::Intrinsic::x86_rdpmc:
    case llvm::Intrinsic::x86_rdpid:
    case llvm::Intrinsic::x86_xgetbv:
      return true;
    default:
      return false;
  }
}

}  // namespace

unsigned outside_value_bytes(const llvm::Instruction& instruction) {
  constexpr unsigned kStackAddress = 4;
  if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
    return address_goes_anywhere(*object) ? kStackAddress : 0;
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->isMustTailCall()) return 0;
  const bool asks = call->isInlineAsm() || asks_the_machine(call->getIntrinsicID());
  return asks ? stored_bytes(*call->getType()) : 0;
}

}  // namespace heddle
