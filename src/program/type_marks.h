// What the compiler says about the type of the memory that an instruction accesses (TBAA metadata).
#pragma once

#include <llvm/IR/Instruction.h>

namespace heddle {

// The access is marked as one to a number: an integer type wider than char, an enumeration or a floating point
// type. Not marked: pointers, char, members of unions, everything at -O0 or under -fno-strict-aliasing, and
// what the optimiser made up itself (a memcpy of 8 bytes).
bool is_marked_number(const llvm::Instruction& access);

}  // namespace heddle
