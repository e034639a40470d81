// Control variant: loads, stores, read-modify-writes and memory intrinsics on memory that may be shared.
//
// Loads and stores are sent to where their hook says. The alias information of a redirected access is dropped:
// it was made for the memory it went to before.
//
// One hook is one decision point, and the access follows it at once: where an instruction touches several
// places, either it is taken apart (short copies go through the stack), or all its places make one event (a
// `call` with ranges).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/control_hooks.h"
#include "program/access.h"

namespace heddle {

class AccessHooks {
 public:
  AccessHooks(const Program& program, const ControlHooks& hooks) : program_(program), hooks_(hooks) {}

  // `shared`: accesses of one instruction, those that need a hook.
  void add(llvm::ArrayRef<Access> shared);
  // An access that needs none, to memory that others have hooks for (Access::lent).
  void add_lent(const Access& access);

 private:
  void add_transfer(llvm::AnyMemTransferInst& copy, llvm::ArrayRef<Access> shared);
  void copy_through_stack(llvm::AnyMemTransferInst& copy, HookEmitter& emit);
  void add_in_place(llvm::IntrinsicInst& call, llvm::ArrayRef<Access> shared);
  llvm::AllocaInst* buffer_of(llvm::Function& function);

  const Program& program_;
  const ControlHooks& hooks_;
  llvm::DenseMap<llvm::Function*, llvm::AllocaInst*> buffers_;
};

}  // namespace heddle
