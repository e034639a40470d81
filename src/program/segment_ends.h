// Where a path segment ends whatever the numbering (path_numbering.h, segments.h).
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/InstrTypes.h>

namespace heddle {

// `cuts` (may be null) is asked for ordinary calls only: calls that may return twice always end a segment,
// intrinsics never do, and behind a musttail call there is no place for code.
bool ends_segment(const llvm::CallBase& call, llvm::function_ref<bool(const llvm::CallBase&)> cuts);

// indirectbr and callbr: nothing can be put on their edges.
bool edges_carry_no_code(const llvm::Instruction& terminator);

}  // namespace heddle
