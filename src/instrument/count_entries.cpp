#include "instrument/count_entries.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>

#include "abi/hooks.h"
#include "instrument/instrument.h"

namespace heddle {

Result<void> instrument_count(const Program& program, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* id_type = llvm::Type::getInt32Ty(context);
  const llvm::FunctionCallee hook =
      module.getOrInsertFunction(HEDDLE_HOOK_COUNT_ENTER, llvm::Type::getVoidTy(context), id_type);
  for (llvm::Function* function : instrumentable_functions(module)) {
    // Behind the allocas: they must stay in one piece at the start for the stack frame to be static.
    llvm::IRBuilder<> builder(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    if (llvm::DISubprogram* scope = function->getSubprogram())
      builder.SetCurrentDebugLocation(llvm::DILocation::get(context, scope->getScopeLine(), 0, scope));
    builder.CreateCall(hook, llvm::ConstantInt::get(id_type, program.id_of(*function).value));
  }
  return verify_instrumented(module, "count");
}

}  // namespace heddle
