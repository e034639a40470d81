// Record variant: where control comes to the program otherwise than by its own direct calls.
//
// A function whose address is taken, or whose name foreign code may know, gets a second function with its name,
// its *entry*, which tells that the function is entered and goes on to it. All uses but direct calls mean the
// entry from then on. Entries lie in a section of their own, so that a call through a pointer can tell inside
// from outside (abi/record.h).
#pragma once

#include "instrument/record_log.h"
#include "program/record_plan.h"

namespace heddle {

void add_entry(const Program& program, const RecordHooks& hooks, const FunctionPlan& plan,
               llvm::Function& function);

// Gives each invoke of the function a landing pad of its own: the invokes.
std::vector<llvm::InvokeInst*> split_landings(llvm::Function& function);
// The hook that tells of a landing. When all hooks of the paths are there: it may be what goes back to the log
// of the interrupted code, so it is the first of all.
void add_landings(const Program& program, const RecordHooks& hooks,
                  const std::vector<llvm::InvokeInst*>& invokes);

}  // namespace heddle
