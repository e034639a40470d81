#include "instrument/control_hooks.h"

#include <llvm/IR/DebugInfoMetadata.h>

#include "abi/hooks.h"

namespace heddle {

ControlHooks::ControlHooks(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* number = llvm::Type::getInt32Ty(context);
  read = module.getOrInsertFunction(HEDDLE_HOOK_READ, pointer, pointer, word, number);
  write = module.getOrInsertFunction(HEDDLE_HOOK_WRITE, pointer, pointer, word, number);
  atomic_read = module.getOrInsertFunction(HEDDLE_HOOK_ATOMIC_READ, pointer, pointer, word, number, number);
  atomic_write = module.getOrInsertFunction(HEDDLE_HOOK_ATOMIC_WRITE, pointer, pointer, word, number, number);
  update = module.getOrInsertFunction(HEDDLE_HOOK_UPDATE, pointer, pointer, word, number, number);
  fence = module.getOrInsertFunction(HEDDLE_HOOK_FENCE, nothing, number, number);
  in_place = module.getOrInsertFunction(HEDDLE_HOOK_IN_PLACE, nothing, pointer, word, number, number);
  range = module.getOrInsertFunction(HEDDLE_HOOK_RANGE, nothing, pointer, word, word, number);
  call = module.getOrInsertFunction(HEDDLE_HOOK_CALL, nothing, number);
  blocking = module.getOrInsertFunction(HEDDLE_HOOK_BLOCKING, nothing, number, pointer);
  blocking_done = module.getOrInsertFunction(HEDDLE_HOOK_BLOCKING_DONE, nothing);
  assembly = module.getOrInsertFunction(HEDDLE_HOOK_ASSEMBLY, nothing, number);
  assembly_load = module.getOrInsertFunction(HEDDLE_HOOK_ASSEMBLY_LOAD, nothing, pointer, word, number);
  own = module.getOrInsertFunction(HEDDLE_HOOK_OWN, nothing, llvm::PointerType::getUnqual(module.getContext()),
                                   llvm::Type::getInt64Ty(module.getContext()));
  frame_end = module.getOrInsertFunction(HEDDLE_HOOK_FRAME_END, nothing,
                                         llvm::PointerType::getUnqual(module.getContext()));
  leave =
      module.getOrInsertFunction(HEDDLE_HOOK_LEAVE, nothing, llvm::PointerType::getUnqual(module.getContext()));
  clock = module.getOrInsertFunction(HEDDLE_HOOK_CLOCK, word);
  chance = module.getOrInsertFunction(HEDDLE_HOOK_CHANCE, word);
  site = new llvm::GlobalVariable(module, number, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                  HEDDLE_CONTROL_SITE, nullptr, llvm::GlobalValue::InitialExecTLSModel);
}

heddle_order hook_order(llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope) {
  if (ordering == llvm::AtomicOrdering::NotAtomic) return HEDDLE_ORDER_plain;
  if (scope == llvm::SyncScope::SingleThread) return HEDDLE_ORDER_relaxed;
  switch (ordering) {
    case llvm::AtomicOrdering::Acquire:
      return HEDDLE_ORDER_acquire;
    case llvm::AtomicOrdering::Release:
      return HEDDLE_ORDER_release;
    case llvm::AtomicOrdering::AcquireRelease:
      return HEDDLE_ORDER_acq_rel;
    case llvm::AtomicOrdering::SequentiallyConsistent:
      return HEDDLE_ORDER_seq_cst;
    default:
      return HEDDLE_ORDER_relaxed;
  }
}

HookEmitter::HookEmitter(const Program& program, const ControlHooks& hooks, llvm::Instruction& at)
    : hooks_(hooks), builder_(&at), site_(builder_.getInt32(program.id_of(at).value)) {
  builder_.SetCurrentDebugLocation(hook_location(at));
}

llvm::Value* HookEmitter::access(const llvm::FunctionCallee& plain, const llvm::FunctionCallee& atomic,
                                 llvm::Value* pointer, llvm::Value* size, heddle_order order) {
  if (order == HEDDLE_ORDER_plain) return builder_.CreateCall(plain, {pointer, size, site_});
  return builder_.CreateCall(atomic, {pointer, size, site_, builder_.getInt32(order)});
}

llvm::Value* HookEmitter::read(llvm::Value* pointer, llvm::Value* size, heddle_order order) {
  return access(hooks_.read, hooks_.atomic_read, pointer, size, order);
}

llvm::Value* HookEmitter::write(llvm::Value* pointer, llvm::Value* size, heddle_order order) {
  return access(hooks_.write, hooks_.atomic_write, pointer, size, order);
}

void HookEmitter::update(llvm::Value* pointer, llvm::Value* size, heddle_order order) {
  builder_.CreateCall(hooks_.update, {pointer, size, site_, builder_.getInt32(order)});
}

void HookEmitter::fence(heddle_order order) {
  builder_.CreateCall(hooks_.fence, {site_, builder_.getInt32(order)});
}

void HookEmitter::in_place(llvm::Value* pointer, llvm::Value* size, bool writes) {
  builder_.CreateCall(hooks_.in_place, {pointer, size, site_, builder_.getInt32(writes)});
}

void HookEmitter::range(llvm::Value* pointer, llvm::Value* size, llvm::Value* limit, bool writes) {
  if (limit == nullptr) limit = builder_.getInt64(UINT64_MAX);
  builder_.CreateCall(hooks_.range, {pointer, size, limit, builder_.getInt32(writes)});
}

void HookEmitter::call() {
  builder_.CreateCall(hooks_.call, {site_});
}

void HookEmitter::note_site() {
  builder_.CreateStore(site_, hooks_.site);
}

void HookEmitter::blocking(llvm::Value* name) {
  builder_.CreateCall(hooks_.blocking, {site_, name});
}

void HookEmitter::own(llvm::Value* pointer, llvm::Value* size) {
  builder_.CreateCall(hooks_.own, {pointer, size});
}

void HookEmitter::leave(llvm::Value* target) {
  builder_.CreateCall(hooks_.leave, {target});
}

void HookEmitter::assembly() {
  builder_.CreateCall(hooks_.assembly, {site_});
}

void HookEmitter::assembly_load(llvm::Value* pointer, llvm::Value* size) {
  builder_.CreateCall(hooks_.assembly_load, {pointer, size, site_});
}

}  // namespace heddle
