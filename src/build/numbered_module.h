// Debug information that numbers instructions: the module of a translation unit gets, in place of its own, one
// source line per instruction. Code generation carries lines along and does not look at them, so the line table
// of the object that comes out maps code to instructions. The same for values: loop counts and the like get
// names, so that the object says where they live.
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// Line N is numbered[N - 1].
struct NumberedInstruction {
  const llvm::Function* function;
  uint32_t position;  // among the function's instructions, those that only carry debug information left out
};

// Variables named "N", as their values are numbered[N - 1]: what is known of integers and pointers that loops
// (and what they add to their phis), loads and calls give, and of each local variable that has its place in
// memory. "aN": the N-th argument of its function.
std::vector<NumberedInstruction> number_instructions(llvm::Module& module);

// The instructions of a function as they are counted above.
std::vector<const llvm::Instruction*> counted_instructions(const llvm::Function& function);

}  // namespace heddle
