// Control variant: what library functions touch, as ranges for the runtime.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "instrument/control_hooks.h"
#include "program/sharing.h"

namespace heddle {

struct EmittedRanges {
  bool any = false;
  bool left_out = false;  // the call touches more, which may be in the thread's store buffer
};

// Emits the ranges of a call of a known function, those that may be shared.
//
// Left out: objects of the library (FILE, DIR, std::cout), which are not the program's memory, though inline
// code of a header may store to them; what the format of a printf says when it is not a constant, and what is
// behind a va_list.
EmittedRanges emit_ranges(HookEmitter& emit, const llvm::CallBase& call,
                          llvm::ArrayRef<ArgumentAccess> arguments);

}  // namespace heddle
