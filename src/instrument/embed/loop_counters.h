// Loop counters for the production binary (Weeratunge, Zhang, Jagannathan, ASPLOS 2010, section 3.2): a counter
// for each loop whose round cannot be told from a variable of the program (program/counting_variables.h). A
// core then says which round each thread was in.
//
// They come in behind all optimisation, right before the module is stored: the model of the program has them
// too, so the place of each is known as that of all other values. With optimisation a counter is a phi, for one
// register and one addition in each round. It is kept alive by a store where the loop is left: the way there
// leads from everywhere in the loop. Loops that are never left, and functions without optimisation, count in
// memory. What a variable of the program that counts begins with is kept alive there by a use that is no code.
#pragma once

#include <llvm/IR/PassManager.h>

namespace heddle {

struct LoopCountersPass : llvm::PassInfoMixin<LoopCountersPass> {
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace heddle
