// Reads of shared memory whose values follow from what one thread did while it was alone: whoever follows the
// main thread from its beginning has them, and every other thread finds the same.
//
// Such a read is early itself (early_code.h), or its class of memory (sharing.h) is *settled*: everything that
// writes to it, or brings new objects into it, is early. Tables that are filled before the threads start are
// so. Never: what code outside of the program may reach, thread-local memory, volatile reads (somebody else may
// change what is there).
#pragma once

#include "program/pointer_flow.h"
#include "program/sharing.h"

namespace heddle {

// Sets Access::settled of shared reads. `flow` is finished.
void mark_settled(const llvm::Module& module, const EffectsTable& effects, const SharingOptions& options,
                  PointerFlow& flow, std::vector<Access>& accesses);

}  // namespace heddle
