// Flow variant: what the processor tells that no replay can compute anew, its time stamp counter and chance.
// The runtime writes it down, and gives it back in a replay (runtime/flow/told.c).
#pragma once

#include <llvm/IR/Function.h>

namespace heddle {

void add_told_values(llvm::Function& function);

}  // namespace heddle
