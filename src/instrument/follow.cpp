#include "instrument/follow.h"

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "abi/hooks.h"
#include "instrument/control.h"
#include "instrument/frame_records.h"
#include "instrument/instrument.h"

namespace heddle {

Result<void> instrument_follow(const Program& program, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* id_type = llvm::Type::getInt32Ty(context);
  // Before other hooks split blocks.
  std::vector<std::pair<llvm::BasicBlock*, uint32_t>> blocks;
  std::vector<std::pair<llvm::ReturnInst*, uint32_t>> returns;
  for (llvm::Function* function : instrumentable_functions(module))
    for (llvm::BasicBlock& block : *function) {
      blocks.emplace_back(&block, program.id_of(block).value);
      if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        returns.emplace_back(end, program.id_of(*function).value);
    }
  FrameRecords records(program, module);
  HEDDLE_TRY(instrument_control(program, module));
  records.add();
  const llvm::FunctionCallee enter =
      module.getOrInsertFunction(HEDDLE_HOOK_MOVE_BLOCK, llvm::Type::getVoidTy(context), id_type);
  const llvm::FunctionCallee leave =
      module.getOrInsertFunction(HEDDLE_HOOK_MOVE_RETURN, llvm::Type::getVoidTy(context), id_type);
  const auto call = [&](llvm::Instruction& before, const llvm::FunctionCallee& hook, uint32_t id) {
    llvm::IRBuilder<> builder(&before);
    builder.SetCurrentDebugLocation(hook_location(before));
    builder.CreateCall(hook, llvm::ConstantInt::get(id_type, id));
  };
  for (const auto& [block, id] : blocks) {
    if (block->isEHPad() && !block->isLandingPad()) continue;
    // Behind the allocas: they must stay in one piece at the start for the stack frame to be static.
    llvm::Instruction& first =
        block->isEntryBlock() ? *block->getFirstNonPHIOrDbgOrAlloca() : *block->getFirstInsertionPt();
    call(first, enter, id);
  }
  for (const auto& [end, id] : returns) {
    llvm::CallInst* last = end->getParent()->getTerminatingMustTailCall();
    call(last != nullptr ? *last : static_cast<llvm::Instruction&>(*end), leave, id);
  }
  return verify_instrumented(module, "follow");
}

}  // namespace heddle
