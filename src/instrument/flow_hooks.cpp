#include "instrument/flow_hooks.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "abi/hooks.h"

namespace heddle {

llvm::Value* flow_field(llvm::IRBuilder<>& builder, llvm::Value* self, FlowField field) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), self, static_cast<unsigned>(field));
}

// Volatile: other threads look at the status, and the order of these stores and of the access is the point.
void set_flow_status(llvm::IRBuilder<>& builder, llvm::Value* self, llvm::Value* value) {
  llvm::StoreInst* store = builder.CreateStore(value, flow_field(builder, self, FlowField::status), true);
  store->setAtomic(llvm::AtomicOrdering::Release);
  store->setAlignment(llvm::Align(8));
}

FlowHooks::FlowHooks(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  // Named in assembly only.
  module.getOrInsertFunction(HEDDLE_HOOK_FLOW_LOAD, word, pointer, word);
  module.getOrInsertFunction(HEDDLE_HOOK_FLOW_STORE, nothing, pointer, word, word);
  module.getOrInsertFunction(HEDDLE_HOOK_FLOW_BEGIN_WIDE, nothing, pointer, word, pointer);
  module.getOrInsertFunction(HEDDLE_HOOK_FLOW_END_PART, nothing);
  begin_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_BEGIN, nothing);
  begin_ranges_ =
      module.getOrInsertFunction(HEDDLE_HOOK_FLOW_BEGIN_RANGES, nothing, word, word, word, word, word);
  end_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_END, nothing);
  told_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_TOLD, word, word);
  lock_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_LOCK, nothing, pointer, pointer);
  unlock_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_UNLOCK, nothing, pointer);
  const auto thread_local_variable = [&](llvm::Type* type, const char* name) {
    auto* variable = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                              name, nullptr, llvm::GlobalValue::InitialExecTLSModel);
    variable->setDSOLocal(true);
    return variable;
  };
  self_ = thread_local_variable(pointer, HEDDLE_FLOW_SELF);
  private_ = thread_local_variable(llvm::Type::getInt32Ty(context), HEDDLE_FLOW_PRIVATE);
}

// A range that is announced, as far as one hook can say it together with others.
static llvm::CallInst* announced_range(llvm::Instruction* instruction) {
  auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr ||
      call->getCalledFunction()->getName() != HEDDLE_HOOK_RANGE)
    return nullptr;
  const auto* limit = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(2));
  return limit != nullptr && limit->isMinusOne() ? call : nullptr;
}

void FlowHooks::begin(llvm::IRBuilder<>& builder, FlowInside inside) const {
  llvm::SmallVector<llvm::CallInst*, 2> ranges;
  for (auto at = builder.GetInsertPoint(); at != builder.GetInsertBlock()->begin() && ranges.size() < 2;) {
    --at;
    if (llvm::CallInst* range = announced_range(&*at))
      ranges.push_back(range);
    else if (llvm::isa<llvm::CallBase>(*at) && !llvm::isa<llvm::IntrinsicInst>(*at))
      break;
  }
  llvm::SmallVector<llvm::Value*, 5> arguments;
  uint64_t what = inside == FlowInside::plain     ? HEDDLE_FLOW_PLAIN
                  : inside == FlowInside::waiting ? HEDDLE_FLOW_WAITS
                                                  : 0;
  for (llvm::CallInst* range : ranges) {
    if (!llvm::cast<llvm::ConstantInt>(range->getArgOperand(3))->isZero())
      what |= uint64_t{1} << (arguments.size() / 2);
    arguments.push_back(builder.CreatePtrToInt(range->getArgOperand(0), builder.getInt64Ty()));
    arguments.push_back(range->getArgOperand(1));
    range->eraseFromParent();
  }
  arguments.resize(4, builder.getInt64(0));
  arguments.push_back(builder.getInt64(what));
  if (what == 0 && ranges.empty())
    builder.CreateCall(begin_);
  else
    builder.CreateCall(begin_ranges_, arguments);
}

void FlowHooks::end(llvm::IRBuilder<>& builder, FlowInside inside) const {
  if (inside != FlowInside::plain) {
    builder.CreateCall(end_);
    return;
  }
  llvm::Value* self = this->self(builder);
  llvm::Value* status =
      builder.CreateLoad(builder.getInt64Ty(), flow_field(builder, self, FlowField::status), true);
  llvm::Value* direct = builder.CreateICmpEQ(builder.CreateAnd(status, builder.getInt64(kFlowEvent - 1)),
                                             builder.getInt64(HEDDLE_FLOW_direct));
  llvm::Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(direct, &*builder.GetInsertPoint(), &then, &otherwise,
                                      llvm::MDBuilder(builder.getContext()).createBranchWeights(1000, 1));
  llvm::IRBuilder<> fast(then), slow(otherwise);
  fast.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
  slow.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
  set_flow_status(fast, self, fast.CreateSub(status, fast.getInt64(HEDDLE_FLOW_direct)));
  slow.CreateCall(end_);
}

static llvm::Value* frame_address(llvm::IRBuilder<>& builder) {
  return builder.CreateIntrinsic(llvm::Intrinsic::frameaddress, {builder.getPtrTy()}, {builder.getInt32(0)});
}

void FlowHooks::lock(llvm::IRBuilder<>& builder, llvm::Value* object) const {
  builder.CreateCall(lock_, {object, frame_address(builder)});
}

void FlowHooks::unlock(llvm::IRBuilder<>& builder) const {
  builder.CreateCall(unlock_, {frame_address(builder)});
}

// Behind the call too: it may have allocated nothing. (Of one that throws nothing is known: most have asked for
// memory before. If not, the next block lies apart for nothing.)
void FlowHooks::allocate_private(llvm::CallBase& call) const {
  const auto set = [&](llvm::Instruction* before, uint32_t value) {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    builder.CreateStore(builder.getInt32(value), builder.CreateThreadLocalAddress(private_));
  };
  set(&call, 1);
  auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call);
  if (invoke == nullptr) return set(call.getNextNode(), 0);
  llvm::BasicBlock* next = invoke->getNormalDest();
  if (next->getSinglePredecessor() == nullptr) next = llvm::SplitEdge(invoke->getParent(), next);
  set(&*next->getFirstInsertionPt(), 0);
}

llvm::Value* FlowHooks::told(llvm::IRBuilder<>& builder, llvm::Value* value) const {
  return builder.CreateCall(told_, builder.CreateZExt(value, builder.getInt64Ty()));
}

llvm::Value* FlowHooks::self(llvm::IRBuilder<>& builder) const {
  return builder.CreateLoad(builder.getPtrTy(), builder.CreateThreadLocalAddress(self_));
}

}  // namespace heddle
