// The variant "ptwrite": the program as it is, but for PTWRITE instructions that put into an Intel PT trace
// what the packets do not tell (H3, section 6.3.3): values that decide where memory is accessed, results of
// calls that leave the program, where stacks and blocks of the heap lie. It tells what a log of the standard
// policy has (program/record_plan.h); the way of each thread is in the packets.
//
// The units of the program are changed one by one and not the canonical program, so that their machine code is
// mapped as that of the program itself (build/code_map.h). Blocks stay as they are.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include "program/ptwrite_sites.h"
#include "program/record_plan.h"

namespace heddle {

struct PlacedPtwrite {
  const llvm::Instruction* of = nullptr;  // of the program
  PtwriteSite site;
};
// By instructions that were put in.
using PlacedPtwrites = llvm::DenseMap<const llvm::Instruction*, PlacedPtwrite>;

// `in_program`: what instructions of the unit's function are in the program's.
void insert_ptwrites(llvm::Function& unit, const llvm::Function& program,
                     const llvm::DenseMap<llvm::Instruction*, const llvm::Instruction*>& in_program,
                     const RecordPlan& plan, PlacedPtwrites& out);

}  // namespace heddle
