// The stack objects of a function that are local variables and nothing more: what -O0 makes of them, and the
// optimiser (mem2reg) would turn into values. Nobody else can write to them, so whoever follows the path knows
// them.
//
// A slot is an alloca of constant size in the entry block whose address is used by nothing but loads and stores
// of one width, neither volatile nor atomic, and lifetime markers.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace heddle {

class StackSlots {
 public:
  StackSlots(const llvm::Function& function, const llvm::DataLayout& layout);

  const std::vector<const llvm::AllocaInst*>& slots() const { return slots_; }
  // Loads of slots that something is stored to before on every way from the entry.
  const std::vector<const llvm::LoadInst*>& assigned_loads() const { return assigned_loads_; }

 private:
  std::vector<const llvm::AllocaInst*> slots_;
  std::vector<const llvm::LoadInst*> assigned_loads_;
};

}  // namespace heddle
