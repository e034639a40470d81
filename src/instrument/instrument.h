// What all instrumentation passes share: which functions they may touch, and the check afterwards.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "base/result.h"

namespace heddle {

// Functions with a body that may carry hooks, in module order. Left out: naked functions (no prologue to put a
// call behind) and resolvers of indirect functions (they run before thread-local storage exists).
std::vector<llvm::Function*> instrumentable_functions(llvm::Module& module);

// An instrumented module that LLVM's verifier rejects is our own bug; say which function.
Result<void> verify_instrumented(const llvm::Module& module, const char* variant);

}  // namespace heddle
