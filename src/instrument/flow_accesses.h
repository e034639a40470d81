// Loads and stores of variant "flow" whose granules instrumented code looks at itself (abi/flow.h).
//
// Accesses with nothing between them that could wait, call or count are a stretch
// (instrument/flow_stretches.h). Where it begins the status says that accesses are under way; where it ends,
// that all are done, and their number. In between the number is in a register, as is the hash of what was read:
// only who has to call a hook writes them down before. Whoever waits for the thread makes it do so
// (heddle_flow_thread.tag). So a fault finds the status as the stretch began (runtime/flow/handlers.c).
//
// In a stretch accesses are looked at in groups (instrument/flow_groups.h). If all granules of a group are the
// thread's the accesses are made as they are; else each by its hook. A replay, which always takes the hooks,
// comes to the same numbers and hashes.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "instrument/flow_groups.h"
#include "instrument/flow_hooks.h"
#include "program/program.h"

namespace heddle {

using FlowAccesses = llvm::MapVector<llvm::Instruction*, llvm::SmallVector<HookedAccess, 2>>;

// Those of the function that are inline accesses. When all its other hooks are in place.
void add_flow_accesses(llvm::Function& function, const FlowAccesses& accesses, const Program& program,
                       const FlowHooks& hooks);

}  // namespace heddle
