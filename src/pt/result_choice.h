// Which result a call had, of which only the path behind it is known: a result whose branches lead elsewhere
// was not it.
#pragma once

#include <llvm/IR/Instructions.h>

#include <span>

namespace heddle {

// Whether a thread that got this result may have gone on through these blocks of the call's function, one after
// another. What is computed from other values than the result and constants may be anything.
bool path_allows(const llvm::CallBase& call, uint64_t result, std::span<const llvm::BasicBlock* const> blocks);

}  // namespace heddle
