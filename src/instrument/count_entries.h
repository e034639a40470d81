// Variant "count": a hook at the start of every function.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// Changes `module`, which was taken from `program`; ids are the program's.
Result<void> instrument_count(const Program& program, llvm::Module& module);

}  // namespace heddle
