// Variant "control": hooks before everything that another thread may notice, so that a runtime decides who goes
// on (decision D9). Which hooks there are, and what they promise, stands in abi/hooks.h.
//
// What gets a hook:
//   - accesses that the sharing analysis calls shared (control_accesses.h), fences;
//   - inline assembly that may touch memory, and calls that leave the program (control_calls.h).
// The program's main becomes heddle_program_main: the runtime has a main of its own.
#pragma once

#include "base/result.h"
#include "program/effects.h"
#include "program/program.h"

namespace heddle {

// Changes `module`, which was taken from `program`; ids are the program's. With the effects tables of this
// user.
Result<void> instrument_control(const Program& program, llvm::Module& module);
Result<void> instrument_control(const Program& program, llvm::Module& module, const EffectsTable& effects);

}  // namespace heddle
