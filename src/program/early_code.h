// Which code runs only while the program has one thread: before anything that may start another.
//
// Such code is reached from main or from a constructor of the program (llvm.global_ctors) only, by direct
// calls, and never behind a call that may start a thread. That may: the functions that start threads, functions
// outside of which nothing is known, functions of the program that call such. If a function whose address is
// taken starts threads, every call that leaves the program or goes through a pointer may come to it. A call
// that returns twice counts too: control may come back to it later. A function whose address is taken may
// itself run at any time.
//
// Flow-sensitive within functions, context-insensitive. Assumption: no thread is started by assembly, nor,
// before main, by a library that then works on the program's memory.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "program/effects.h"

namespace heddle {

class EarlyCode {
 public:
  // `foreign_callers` as in SharingOptions.
  EarlyCode(const llvm::Module& module, const EffectsTable& effects, bool foreign_callers);

  // Runs to its end before there is a second thread.
  bool early(const llvm::Instruction& instruction) const;

 private:
  // A call of the program that is no intrinsic.
  struct Call {
    const llvm::CallBase* call;
    const llvm::Function* inside = nullptr;  // the function of the program that it calls
    bool starts = false;                     // a thread, by itself
    bool calls_back = false;                 // may come to functions whose address is taken
  };
  // How a function is reached, apart from direct calls.
  struct Uses {
    bool by_address = false, as_constructor = false;
  };

  Call describe(const llvm::CallBase& call, const EffectsTable& effects) const;
  Uses uses_of(const llvm::Function& function, const EffectsTable& effects) const;
  void add_starter(const llvm::Function& function);
  bool may_start(const Call& call) const;
  void find_late_blocks(const llvm::Function& function);
  void make_late(const llvm::Function& function);
  bool reached_late(const llvm::Instruction& instruction) const;

  bool foreign_callers_;
  llvm::DenseMap<const llvm::Function*, std::vector<Call>> calls_;                     // that it makes
  llvm::DenseMap<const llvm::Function*, std::vector<const llvm::Function*>> callers_;  // inside the program
  bool callbacks_start_ = false;                         // a function whose address is taken may start threads
  llvm::DenseSet<const llvm::Function*> starters_;       // functions of the program that may
  llvm::DenseSet<const llvm::Function*> late_;           // may be entered when there are threads
  llvm::DenseSet<const llvm::BasicBlock*> late_blocks_;  // of the others
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::Instruction*> starts_;  // the first such call of a block
};

}  // namespace heddle
