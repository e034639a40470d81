#include "instrument/record_entries.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/instrument.h"
#include "program/stored_bytes.h"

namespace heddle {
namespace {

bool means_the_code(const llvm::Use& use) {
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser())) return call->isCallee(&use);
  return llvm::isa<llvm::BlockAddress>(use.getUser());
}

llvm::Function* make_entry(llvm::Function& function) {
  llvm::Function* entry = llvm::Function::Create(function.getFunctionType(), function.getLinkage(),
                                                 function.getAddressSpace(), "", function.getParent());
  entry->copyAttributesFrom(&function);
  entry->setPersonalityFn(nullptr);
  entry->removeFnAttr(llvm::Attribute::AlwaysInline);
  entry->removeFnAttr(llvm::Attribute::OptimizeNone);
  entry->removeFnAttr(llvm::Attribute::NoReturn);
  forget_memory_attributes(*entry);
  entry->setComdat(function.getComdat());
  entry->setSection(HEDDLE_RECORD_ENTRIES);
  entry->takeName(&function);
  function.setName(entry->getName() + ".heddle");
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  function.setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
  function.setComdat(nullptr);
  return entry;
}

// `if_outside`: only then; null: always.
void tell_arguments(const RecordHooks& hooks, llvm::Function& entry, llvm::Value* if_outside,
                    llvm::Instruction& before) {
  std::vector<LoggedValue> told;
  for (llvm::Argument& argument : entry.args())
    if (const unsigned bytes = stored_bytes(*argument.getType())) told.push_back({&argument, bytes});
  if (told.empty()) return;
  llvm::Instruction& place =
      if_outside == nullptr ? before : *llvm::SplitBlockAndInsertIfThen(if_outside, &before, false);
  LogEmitter(hooks, place).append(told);
}

}  // namespace

void add_entry(const Program& program, const RecordHooks& hooks, const FunctionPlan& plan,
               llvm::Function& function) {
  llvm::Function* entry = make_entry(function);
  function.replaceUsesWithIf(entry, [](llvm::Use& use) { return !means_the_code(use); });
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(function.getContext(), "", entry));
  llvm::Value* from_outside = builder.CreateIsNotNull(
      builder.CreateCall(hooks.enter, {builder.getInt32(program.id_of(function).value)}));
  llvm::SmallVector<llvm::Value*, 8> arguments;
  for (llvm::Argument& argument : entry->args()) arguments.push_back(&argument);
  llvm::CallInst* call = builder.CreateCall(&function, arguments);
  call->setCallingConv(function.getCallingConv());
  call->setAttributes(function.getAttributes().removeFnAttributes(function.getContext()));
  call->setTailCallKind(llvm::CallInst::TCK_MustTail);
  if (entry->getReturnType()->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(call);
  }
  tell_arguments(hooks, *entry, plan.tells_arguments ? nullptr : from_outside, *call);
}

std::vector<llvm::InvokeInst*> split_landings(llvm::Function& function) {
  std::vector<llvm::InvokeInst*> invokes;
  for (llvm::BasicBlock& block : function)
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(block.getTerminator())) invokes.push_back(invoke);
  for (llvm::InvokeInst* invoke : invokes) {
    llvm::BasicBlock* pad = invoke->getUnwindDest();
    if (pad->getSinglePredecessor() != nullptr) continue;
    llvm::SmallVector<llvm::BasicBlock*, 2> made;
    llvm::SplitLandingPadPredecessors(pad, {invoke->getParent()}, ".heddle", ".others", made);
  }
  return invokes;
}

void add_landings(const Program& program, const RecordHooks& hooks,
                  const std::vector<llvm::InvokeInst*>& invokes) {
  for (llvm::InvokeInst* invoke : invokes) {
    LogEmitter at(hooks, *invoke->getUnwindDest()->getFirstInsertionPt());
    const InstructionId id = program.id_of(static_cast<const llvm::Instruction&>(*invoke));
    at.builder().CreateCall(hooks.landed, {at.builder().getInt32(id.value)});
  }
}

}  // namespace heddle
