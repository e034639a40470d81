// Loads and stores of variant "flow" whose granules instrumented code looks at itself (abi/flow.h).
//
// Accesses of one block with nothing between them that could wait, call or count are a stretch: the status is
// written before each access (so a fault finds it right), and is done again behind the last one, or where the
// next stretch begins if that is soon (instrument/flow_stretches.h). The function keeps the number and the hash
// in registers: nobody else changes them, but where it calls. What was read is summed up on the way, and goes
// into the thread's hash at the end of the stretch, whether an access went the short way or by the hook: a
// replay, which always takes the hook, comes to the same hash at the same places.
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ValueHandle.h>

#include "program/access.h"
#include "program/program.h"

namespace heddle {

// Whether what happens inside an event can be events itself, if the event were not open.
enum class FlowInside { anything, plain };

// The state of the thread, and hooks.
class FlowHooks {
 public:
  explicit FlowHooks(llvm::Module& module);

  // Takes the ranges that are announced right before into the same call.
  void begin(llvm::IRBuilder<>& builder, FlowInside inside);
  void end(llvm::IRBuilder<>& builder, FlowInside inside);

 private:
  friend class FlowFunction;
  llvm::FunctionCallee begin_, begin_ranges_, end_;
  llvm::GlobalVariable* self_;
};

// Pointers that were loaded become other values while their loads get hooks: the handle follows.
struct HookedAccess {
  Access access;
  llvm::WeakTrackingVH pointer;
};

// A load, store, atomic update or copy that touches so few granules that each is looked at.
bool is_inline_access(const llvm::Instruction& instruction);

using FlowAccesses = llvm::MapVector<llvm::Instruction*, llvm::SmallVector<HookedAccess, 2>>;

// Those of the function that are inline accesses. When all its other hooks are in place.
void add_flow_accesses(llvm::Function& function, const FlowAccesses& accesses, const Program& program,
                       FlowHooks& hooks);

}  // namespace heddle
