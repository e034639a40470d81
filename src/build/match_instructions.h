// Which instruction of the canonical program one of a translation unit has become. Mostly all of them, one by
// one; but where calls were replaced by library models (program/library_models.h), code stands between, and the
// call is gone.
#pragma once

#include <llvm/IR/Function.h>

#include <vector>

#include "program/ptwrite_sites.h"

namespace heddle {

struct MatchedInstruction {
  const llvm::Instruction* instruction = nullptr;  // null: none
  bool replaced = false;  // it was a call, and this is the first instruction of what stands there now
  const llvm::Instruction* last = nullptr;  // replaced: the last instruction of that
  PtwriteSite ptwrite;    // it is one that was put in, to tell this about the instruction
};

// By position among the counted instructions of the unit's function (numbered_module.h). Empty: these are not
// the same function.
std::vector<MatchedInstruction> match_instructions(const llvm::Function& unit, const llvm::Function& program);

}  // namespace heddle
