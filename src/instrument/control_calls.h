// Control variant: inline assembly, and calls that leave the program.
//
// In front of such a call stand, each where it applies:
//   ranges and `call`   the library function touches memory that may be shared: one event. Not for
//   synchronisation
//                       and the release of memory: the runtime has functions of its own for these
//   the site            so that what the runtime meets inside a library has a place in the program
//   `blocking`          it may wait for something outside; `blocking_done` stands behind it
// Arguments passed by value are copied at the call, whoever is called: a read in place.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>

#include "instrument/control_hooks.h"
#include "program/calls.h"
#include "program/sharing.h"

namespace heddle {

class CallHooks {
 public:
  CallHooks(const Program& program, const ControlHooks& hooks, const EffectsTable& effects)
      : program_(program), hooks_(hooks), effects_(effects) {}

  // `arguments`: what the call does to memory behind its arguments, shared or not.
  void add(llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments);

 private:
  void add_by_value(HookEmitter& emit, const llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments);
  void add_blocking(HookEmitter& emit, llvm::CallBase& call, const CallInfo& info);
  llvm::Constant* name_of(const llvm::Function& callee, llvm::Module& module);

  const Program& program_;
  const ControlHooks& hooks_;
  const EffectsTable& effects_;
  llvm::DenseMap<const llvm::Function*, llvm::Constant*> names_;
};

// Whether it leads to code whose events have no place of their own: they get that of the call.
bool leaves_program(const CallInfo& info);

// Assembly that may read or write memory of the program. Compiler barriers (no instruction at all) and hints to
// the processor (pause) do not. Public for its test.
bool assembly_touches_memory(const llvm::CallBase& call);

}  // namespace heddle
