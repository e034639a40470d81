// Variant "flow": events for everything that another thread may notice, numbered by each thread, for a
// recording that replays for certain (abi/flow.h, Light). The same executable records and replays.
//
// What is an event:
//   - accesses that the sharing analysis calls shared: small aligned ones beside a comparison that finds memory
//   which the
//     thread owns, all others between two hooks;
//   - calls of library functions that touch shared memory, or state of the library: the call is inside the
//   event where it
//     cannot wait for other threads and calls nothing of the program.
#pragma once

#include "base/result.h"
#include "program/effects.h"
#include "program/program.h"

namespace heddle {

// Changes `module`, which was taken from `program`. With the effects tables of this user.
Result<void> instrument_flow(const Program& program, llvm::Module& module);
Result<void> instrument_flow(const Program& program, llvm::Module& module, const EffectsTable& effects);

}  // namespace heddle
