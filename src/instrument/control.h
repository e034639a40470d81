// Variant "control": hooks before everything that another thread may notice, so that a runtime decides who goes
// on (decision D9). Which hooks there are, and what they promise, stands in abi/hooks.h.
//
// What gets a hook:
//   - accesses that the sharing analysis calls shared (control_accesses.h), fences;
//   - inline assembly that may touch memory, and calls that leave the program (control_calls.h).
// The program's main becomes heddle_program_main: the runtime has a main of its own.
#pragma once

#include <utility>
#include <vector>

#include "abi/control.h"
#include "base/result.h"
#include "instrument/control_hooks.h"
#include "program/effects.h"
#include "program/program.h"
#include "program/sharing.h"

namespace heddle {

// The hooks without the new main. They are found before anything is changed, so that another pass may come
// between.
class ControlInstrumentation {
 public:
  // `module` was taken from `program`; ids are the program's.
  ControlInstrumentation(const Program& program, llvm::Module& module, const EffectsTable& effects);
  void apply();

 private:
  // Everything of the module that may get a hook.
  struct Work {
    std::vector<llvm::Function*> functions;
    std::vector<llvm::CallBase*> calls;
    std::vector<std::pair<llvm::Instruction*, heddle_order>> fences;
  };
  void find_work();
  void add_access_hooks(const ControlHooks& hooks);
  void add_call_hooks(const ControlHooks& hooks);

  const Program& program_;
  llvm::Module& module_;
  const EffectsTable& effects_;
  SharingResult sharing_;
  Work work_;
};

// Changes `module`, which was taken from `program`; ids are the program's. With the effects tables of this
// user.
Result<void> instrument_control(const Program& program, llvm::Module& module);
Result<void> instrument_control(const Program& program, llvm::Module& module, const EffectsTable& effects);

}  // namespace heddle
