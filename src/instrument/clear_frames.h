// Local variables that begin as zeroes.
//
// What a function finds in memory of its frame that it never wrote is what others left on the stack: hooks
// whose slow part a recording takes and a replay does not, registers that the compiler keeps around them.
// Programs copy such bytes (the unused part of a short std::string, padding), so they come to shared memory and
// into the hash of what was read. With zeroes they are the same in every run.
//
// A variable is cleared where its life begins, unless the program itself writes all of it there: that is an
// access like any other, which threads that still use the variable by a pointer may see. Those of more than 64
// KB are left as they are.
#pragma once

#include <llvm/IR/Instructions.h>

#include <vector>

namespace heddle {

// Of a function that nothing has been added to.
std::vector<llvm::AllocaInst*> unset_variables(llvm::Function& function);

// To be called when all else has been added, with what unset_variables() said before.
void clear_frames(const std::vector<llvm::AllocaInst*>& variables);

}  // namespace heddle
