// Record variant: what each thread did by itself, written to its own log (decisions D3 and D4, CLAP section 5).
//
// Everything is done by the plan (program/record_plan.h), from which the reader knows what stands where:
//   record_paths    numbers of path segments and rounds of loops, on edges
//   record_calls    results of calls that leave the program, and what else the interpreter cannot compute
//   record_entries  entries of functions that are reached from outside or through pointers; landing pads
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"
#include "program/program.h"
#include "program/record_plan.h"

namespace heddle {

struct RecordOptions {
  RecordPolicy policy = RecordPolicy::standard;
  bool chaos = false;    // disturb threads at shared accesses
  bool buffers = false;  // stores go through simulated buffers: the hooks of the control variant's accesses
  bool blocks = false;   // also log every block: the oracle of the tests
};

Result<void> instrument_record(const Program& program, llvm::Module& module, const RecordOptions& options);

}  // namespace heddle
