// Control variant: what library functions touch, as ranges for the runtime.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "instrument/control_hooks.h"
#include "program/sharing.h"

namespace heddle {

// Emits the ranges of a call of a known function, those that may be shared. False: there are none.
//
// Left out: objects of the library (FILE, DIR, std::cout): not the program's memory; what the format of a
// printf says when it is not a constant, and what is behind a va_list.
bool emit_ranges(HookEmitter& emit, const llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments);

}  // namespace heddle
