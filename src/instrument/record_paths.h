// Record variant: the path stream of one function.
#pragma once

#include <llvm/IR/Function.h>

#include "instrument/record_log.h"
#include "program/record_plan.h"

namespace heddle {

struct PathLabels {
  bool wanted = false;  // policy clap: label at the entry, a mark at the exit
  uint32_t label = 0;
};

// Landing pads must have one invoke each (record_entries.h). Only adds code: splits edges and blocks.
void instrument_paths(const RecordHooks& hooks, const FunctionPlan& plan, const PathLabels& labels,
                      llvm::Function& function);

}  // namespace heddle
