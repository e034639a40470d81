// Variant "follow": the control variant that also tells where threads go, block by block (abi/control.h,
// heddle_move) and keeps the values of its frames where they can be seen (abi/frame_record.h). Events are those
// of the control variant, so schedules of the one are schedules of the other.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// Changes `module`, which was taken from `program`; ids are the program's.
Result<void> instrument_follow(const Program& program, llvm::Module& module);

}  // namespace heddle
