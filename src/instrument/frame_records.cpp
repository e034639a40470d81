#include "instrument/frame_records.h"

#include <llvm/IR/IRBuilder.h>

#include "abi/frame_record.h"
#include "instrument/instrument.h"
#include "program/frame_values.h"

namespace heddle {

FrameRecords::FrameRecords(const Program& program, llvm::Module& module) : module_(module) {
  for (llvm::Function* function : instrumentable_functions(module)) {
    Frame frame{.function = function,
                .id = program.id_of(*function).value,
                .values = {},
                .is_main = function->getName() == "main"};
    for (const llvm::Value* value : frame_values(*function))
      frame.values.push_back(const_cast<llvm::Value*>(value));
    frames_.push_back(std::move(frame));
  }
}

void FrameRecords::add() {
  for (const Frame& frame : frames_) add(frame);
}

void FrameRecords::add(const Frame& frame) {
  llvm::Type* word = llvm::Type::getInt64Ty(module_.getContext());
  const uint64_t words = HEDDLE_FRAME_HEAD + frame.values.size();
  llvm::BasicBlock& entry = frame.function->getEntryBlock();
  llvm::IRBuilder<> builder(&*entry.getFirstNonPHIOrDbgOrAlloca());
  builder.SetCurrentDebugLocation(hook_location(*builder.GetInsertPoint()));
  llvm::AllocaInst* record = nullptr;
  {
    llvm::IRBuilder<> top(&entry.front());
    record = top.CreateAlloca(llvm::ArrayType::get(word, words));
    record->setAlignment(llvm::Align(16));
  }
  const auto slot = [&](llvm::IRBuilder<>& at, uint64_t number) {
    return at.CreateConstInBoundsGEP1_64(word, record, number);
  };
  builder.CreateMemSet(record, builder.getInt8(HEDDLE_FRAME_UNSET_BYTE), words * 8, llvm::Align(16), true);
  builder.CreateStore(builder.getInt64(HEDDLE_FRAME_MAGIC), slot(builder, 0), true);
  builder.CreateStore(builder.getInt64(HEDDLE_FRAME_MAGIC ^ frame.id), slot(builder, 1), true);
  if (frame.is_main) {
    auto* where =
        new llvm::GlobalVariable(module_, builder.getPtrTy(), false, llvm::GlobalValue::ExternalLinkage,
                                 llvm::ConstantPointerNull::get(builder.getPtrTy()), HEDDLE_FRAME_OF_MAIN);
    builder.CreateStore(record, where, true);
  }
  for (size_t i = 0; i < frame.values.size(); ++i) {
    llvm::Value* value = frame.values[i];
    llvm::Instruction* before = &*builder.GetInsertPoint();
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    // Places may stand behind other code of the entry block.
    if (instruction != nullptr && !(llvm::isa<llvm::AllocaInst>(instruction) &&
                                    instruction->getParent() == &entry && instruction->comesBefore(before)))
      before = llvm::isa<llvm::PHINode>(instruction)
                   ? &*const_cast<llvm::BasicBlock*>(instruction->getParent())->getFirstInsertionPt()
                   : const_cast<llvm::Instruction*>(instruction->getNextNode());
    if (before == nullptr) continue;
    llvm::IRBuilder<> at(before);
    at.SetCurrentDebugLocation(hook_location(*before));
    llvm::Value* stored =
        value->getType()->isPointerTy() ? at.CreatePtrToInt(value, word) : at.CreateZExtOrTrunc(value, word);
    at.CreateStore(stored, slot(at, HEDDLE_FRAME_HEAD + i), true);
  }
  // Whoever is called next may find the record below its own frame's head otherwise.
  for (llvm::BasicBlock& block : *frame.function)
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
      llvm::CallInst* last = block.getTerminatingMustTailCall();
      llvm::IRBuilder<> at(last != nullptr ? static_cast<llvm::Instruction*>(last) : end);
      at.SetCurrentDebugLocation(hook_location(*at.GetInsertPoint()));
      at.CreateStore(at.getInt64(0), slot(at, 0), true);
    }
}

}  // namespace heddle
