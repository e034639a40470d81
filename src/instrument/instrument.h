// What all instrumentation passes share: which functions they may touch, and the check afterwards.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "base/result.h"

namespace heddle {

// Functions with a body that may carry hooks, in module order. Left out: naked functions (no prologue to put a
// call behind) and resolvers of indirect functions (they run before thread-local storage exists).
std::vector<llvm::Function*> instrumentable_functions(llvm::Module& module);

// A function with hooks touches memory, and so do calls of it, whatever the optimiser had found out.
void forget_memory_attributes(llvm::Function& function);
void forget_memory_attributes(llvm::CallBase& call);

// The place in the source for code that stands for `at`. A call without one in a function that has debug
// information is not valid: then it is line 0 of the function.
llvm::DebugLoc hook_location(const llvm::Instruction& at);

// An instrumented module that LLVM's verifier rejects is our own bug; say which function.
Result<void> verify_instrumented(const llvm::Module& module, const char* variant);

}  // namespace heddle
