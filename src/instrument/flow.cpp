#include "instrument/flow.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "abi/flow.h"
#include "instrument/control_calls.h"
#include "instrument/control_hooks.h"
#include "instrument/control_ranges.h"
#include "instrument/flow_calls.h"
#include "instrument/instrument.h"
#include "program/calls.h"
#include "program/sharing.h"

namespace heddle {
namespace {

// The state of the thread, and hooks.
class FlowHooks {
 public:
  explicit FlowHooks(llvm::Module& module)
      : context_(module.getContext()),
        word_(llvm::Type::getInt64Ty(context_)),
        pointer_(llvm::PointerType::getUnqual(context_)) {
    llvm::Type* nothing = llvm::Type::getVoidTy(context_);
    // Named in assembly only.
    module.getOrInsertFunction(HEDDLE_HOOK_FLOW_LOAD, word_, pointer_, word_);
    module.getOrInsertFunction(HEDDLE_HOOK_FLOW_STORE, nothing, pointer_, word_, word_);
    begin_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_BEGIN, nothing);
    end_ = module.getOrInsertFunction(HEDDLE_HOOK_FLOW_END, nothing);
    self_ = new llvm::GlobalVariable(module, pointer_, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                     HEDDLE_FLOW_SELF, nullptr, llvm::GlobalValue::InitialExecTLSModel);
    self_->setDSOLocal(true);
  }

  void begin(llvm::IRBuilder<>& builder) { builder.CreateCall(begin_); }
  void end(llvm::IRBuilder<>& builder) { builder.CreateCall(end_); }

  // Around `access`, a load or store inside one granule.
  void add_small(llvm::Instruction& access, llvm::Value* pointer, unsigned size, InstructionId site) {
    const uint64_t what = uint64_t{site.value} << 8 | size;
    llvm::IRBuilder<> builder(&access);
    builder.SetCurrentDebugLocation(hook_location(access));
    llvm::Value* self = builder.CreateLoad(pointer_, builder.CreateThreadLocalAddress(self_));
    llvm::Value* before = field(builder, self, 0);
    set_field(builder, self, 0, builder.CreateAdd(before, builder.getInt64(5)));
    llvm::Value* word = word_of(builder, pointer);
    llvm::Value* mine =
        builder.CreateICmpEQ(builder.CreateLShr(word, HEDDLE_FLOW_LOW_BITS), field(builder, self, 1));
    llvm::Instruction* then = nullptr;
    llvm::Instruction* otherwise = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(mine, &access, &then, &otherwise,
                                        llvm::MDBuilder(context_).createBranchWeights(1000, 1));
    llvm::BasicBlock* behind = access.getParent();
    if (llvm::isa<llvm::LoadInst>(access)) otherwise = unless_known(self, word, then, otherwise);
    llvm::IRBuilder<> slow(otherwise);
    slow.SetCurrentDebugLocation(hook_location(access));
    llvm::Value* told = nullptr;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) {
      call_apart(slow, HEDDLE_HOOK_FLOW_STORE, pointer, what, as_word(slow, store->getValueOperand(), size));
    } else {
      told = from_word(slow, call_apart(slow, HEDDLE_HOOK_FLOW_LOAD, pointer, what, slow.getInt64(0)),
                       access.getType(), size);
    }
    // Handlers of signals may have run in the hook: their events were counted before this one.
    llvm::Value* counted =
        slow.CreateSub(slow.CreateAnd(field(slow, self, 0), slow.getInt64(~3ull)), slow.getInt64(4));
    access.moveBefore(then);
    llvm::IRBuilder<> after(behind, behind->begin());
    after.SetCurrentDebugLocation(hook_location(access));
    llvm::PHINode* number = after.CreatePHI(word_, 2);
    number->addIncoming(before, then->getParent());
    number->addIncoming(counted, otherwise->getParent());
    llvm::PHINode* value = nullptr;
    if (told != nullptr) {
      value = after.CreatePHI(access.getType(), 2);
      access.replaceAllUsesWith(value);
      value->addIncoming(&access, then->getParent());
      value->addIncoming(told, otherwise->getParent());
    }
    llvm::IRBuilder<> next(behind, behind->getFirstInsertionPt());
    next.SetCurrentDebugLocation(hook_location(access));
    if (value != nullptr) mix(next, self, number, as_word(next, value, size));
    set_field(next, self, 0, next.CreateAdd(number, next.getInt64(4)));
  }

  // The value that an event brought.
  void note_value(llvm::IRBuilder<>& builder, llvm::Value* value, unsigned size) {
    llvm::Value* self = builder.CreateLoad(pointer_, builder.CreateThreadLocalAddress(self_));
    llvm::Value* status = field(builder, self, 0);
    mix(builder, self, builder.CreateSub(status, builder.getInt64(4)), as_word(builder, value, size));
  }

  llvm::Value* as_word(llvm::IRBuilder<>& builder, llvm::Value* value, unsigned size) {
    llvm::Type* type = builder.getIntNTy(size * 8);
    if (value->getType()->isPointerTy())
      value = builder.CreatePtrToInt(value, type);
    else if (value->getType()->isIntegerTy())
      value = builder.CreateZExtOrTrunc(value, type);
    else
      value = builder.CreateBitCast(value, type);
    return builder.CreateZExt(value, word_);
  }

 private:
  llvm::Value* address(llvm::IRBuilder<>& builder, llvm::Value* self, unsigned index) {
    return builder.CreateConstInBoundsGEP1_64(word_, self, index);
  }
  // Volatile: other threads look at them, and the order of these stores and of the access is the point.
  llvm::Value* field(llvm::IRBuilder<>& builder, llvm::Value* self, unsigned index) {
    return builder.CreateLoad(word_, address(builder, self, index), true);
  }
  void set_field(llvm::IRBuilder<>& builder, llvm::Value* self, unsigned index, llvm::Value* value) {
    llvm::StoreInst* store = builder.CreateStore(value, address(builder, self, index), true);
    store->setAtomic(llvm::AtomicOrdering::Release);
    store->setAlignment(llvm::Align(8));
  }

  // A call that leaves the program's stack untouched: a replay always makes it, a recording seldom, and
  // programs do look at what an earlier call has left on the stack or in registers (runtime/flow/entry.h).
  llvm::Value* call_apart(llvm::IRBuilder<>& builder, const std::string& hook, llvm::Value* pointer,
                          uint64_t what, llvm::Value* value) {
    builder.GetInsertBlock()->getParent()->addFnAttr("frame-pointer", "all");  // to be seen through
    std::string constraints = "={rax},{rdi},{rsi},{rdx}";
    for (int i = 0; i < 16; ++i) constraints += ",~{xmm" + std::to_string(i) + "}";
    constraints += ",~{memory},~{dirflag},~{fpsr},~{flags}";
    // Handlers of signals run on that stack themselves: behind what they keep below the stack pointer.
    const std::string text = "movq " HEDDLE_FLOW_STACK
                             "@GOTTPOFF(%rip), %rax\n\t"
                             "movq %fs:(%rax), %rax\n\t"
                             "testq %rax, %rax\n\t"
                             "jnz 1f\n\t"
                             "leaq -128(%rsp), %rax\n\t"
                             "andq $$-16, %rax\n"
                             "1:\tmovq %rsp, -16(%rax)\n\t"
                             "leaq -16(%rax), %rsp\n\t"
                             "callq " +
                             hook +
                             "@PLT\n\t"
                             "popq %rsp";
    auto* type = llvm::FunctionType::get(word_, {word_, word_, word_}, false);
    return builder.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true),
                              {builder.CreatePtrToInt(pointer, word_), builder.getInt64(what), value});
  }

  llvm::Value* word_of(llvm::IRBuilder<>& builder, llvm::Value* pointer) {
    llvm::Value* at = builder.CreateAnd(builder.CreatePtrToInt(pointer, word_), builder.getInt64(~7ull));
    at = builder.CreateXor(at, builder.getInt64(HEDDLE_FLOW_SHADOW));
    llvm::LoadInst* word = builder.CreateLoad(word_, builder.CreateIntToPtr(at, pointer_), true);
    word->setAtomic(llvm::AtomicOrdering::Acquire);
    word->setAlignment(llvm::Align(8));
    return word;
  }

  // Before `otherwise`: to `then` if everybody may read the granule, and what was written there is known to
  // have been so before. Where the hook is to be called from now on.
  llvm::Instruction* unless_known(llvm::Value* self, llvm::Value* word, llvm::Instruction* then,
                                  llvm::Instruction* otherwise) {
    llvm::BasicBlock* check = otherwise->getParent();
    llvm::BasicBlock* hook = check->splitBasicBlock(otherwise);
    check->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(check);
    builder.SetCurrentDebugLocation(otherwise->getDebugLoc());
    llvm::Value* slot = builder.CreateAnd(builder.CreateLShr(word, HEDDLE_FLOW_LOW_BITS),
                                          builder.getInt64(HEDDLE_FLOW_SLOTS - 1));
    llvm::Value* number = builder.CreateAnd(builder.CreateLShr(word, 18), builder.getInt64((1ull << 43) - 1));
    llvm::Value* seen = builder.CreateLoad(pointer_, address(builder, self, 3));
    llvm::Value* known = builder.CreateLoad(word_, builder.CreateInBoundsGEP(word_, seen, slot));
    llvm::Value* read = builder.CreateICmpEQ(builder.CreateLShr(word, 61), builder.getInt64(HEDDLE_FLOW_read));
    builder.CreateCondBr(builder.CreateAnd(read, builder.CreateICmpUGE(known, number)), then->getParent(),
                         hook);
    return otherwise;
  }

  void mix(llvm::IRBuilder<>& builder, llvm::Value* self, llvm::Value* number, llvm::Value* value) {
    llvm::Value* mixed =
        builder.CreateMul(builder.CreateXor(value, number), builder.getInt64(HEDDLE_FLOW_FACTOR));
    llvm::Value* at = address(builder, self, 2);
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(word_, at), mixed), at);
  }

  llvm::Value* from_word(llvm::IRBuilder<>& builder, llvm::Value* word, llvm::Type* type, unsigned size) {
    llvm::Value* value = builder.CreateTrunc(word, builder.getIntNTy(size * 8));
    if (type->isPointerTy()) return builder.CreateIntToPtr(value, type);
    if (type->isIntegerTy()) return builder.CreateZExtOrTrunc(value, type);
    return builder.CreateBitCast(value, type);
  }

  llvm::LLVMContext& context_;
  llvm::Type* word_;
  llvm::Type* pointer_;
  llvm::FunctionCallee begin_, end_;
  llvm::GlobalVariable* self_;
};

// Bytes of a load or store that surely stays inside 8 aligned bytes; 0 otherwise.
unsigned small_size(const llvm::Instruction& instruction) {
  const llvm::DataLayout& layout = instruction.getModule()->getDataLayout();
  llvm::Type* type = nullptr;
  llvm::Align align;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    type = load->getType();
    align = load->getAlign();
  } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    type = store->getValueOperand()->getType();
    align = store->getAlign();
  } else {
    return 0;
  }
  if (!type->isIntegerTy() && !type->isPointerTy() && !type->isFloatTy() && !type->isDoubleTy()) return 0;
  const uint64_t size = layout.getTypeStoreSize(type);
  if (size != 1 && size != 2 && size != 4 && size != 8) return 0;
  if (type->isIntegerTy() && type->getIntegerBitWidth() != size * 8 && type->getIntegerBitWidth() != 1)
    return 0;
  return align.value() >= size ? static_cast<unsigned>(size) : 0;
}

// How many bytes an access of another kind touches: at most, from its pointer.
llvm::Value* bytes_of(HookEmitter& emit, const Access& access) {
  if (access.size != 0) return emit.size(access.size);
  if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(access.instruction))
    return emit.builder().CreateZExtOrTrunc(memory->getLength(), emit.builder().getInt64Ty());
  return emit.size(64);
}

// Pointers that were loaded become other values while their loads get hooks: the handle follows.
struct HookedAccess {
  Access access;
  llvm::WeakTrackingVH pointer;
};

class FlowInstrumentation {
 public:
  FlowInstrumentation(const Program& program, llvm::Module& module, const EffectsTable& effects)
      : program_(program),
        module_(module),
        effects_(effects),
        sharing_(analyse_sharing(module, effects, {.foreign_callers = program.has_foreign_callers()})) {}

  void apply() {
    const std::vector<llvm::Function*> functions = instrumentable_functions(module_);
    const llvm::DenseSet<const llvm::Function*> hooked(functions.begin(), functions.end());
    llvm::MapVector<llvm::Instruction*, llvm::SmallVector<HookedAccess, 2>> accesses;
    for (const Access& access : sharing_.accesses)
      if (access.sharing == Sharing::shared && hooked.contains(access.instruction->getFunction()))
        accesses[const_cast<llvm::Instruction*>(access.instruction)].push_back(
            {access, llvm::WeakTrackingVH(const_cast<llvm::Value*>(access.pointer))});
    std::vector<llvm::CallBase*> calls;
    for (llvm::Function* function : functions)
      for (llvm::Instruction& instruction : llvm::instructions(*function))
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call))
          calls.push_back(call);
    const ControlHooks ranges(module_);
    FlowHooks hooks(module_);
    add_calls(calls, ranges, hooks);
    for (auto& [instruction, of_one] : accesses) add_access(*instruction, of_one, ranges, hooks);
    for (llvm::Function* function : functions) forget_memory_attributes(*function);
    for (llvm::CallBase* call : calls) forget_memory_attributes(*call);
  }

 private:
  void add_access(llvm::Instruction& instruction, llvm::ArrayRef<HookedAccess> of_one,
                  const ControlHooks& ranges, FlowHooks& hooks) {
    llvm::Value* pointer = of_one[0].pointer;
    if (pointer->getType()->getScalarType()->getPointerAddressSpace() != 0) return;
    if (const unsigned size = small_size(instruction))
      return hooks.add_small(instruction, pointer, size, program_.id_of(instruction));
    HookEmitter emit(program_, ranges, instruction);
    emit.note_site();
    for (const HookedAccess& access : of_one) add_ranges(emit, access.access, access.pointer);
    hooks.begin(emit.builder());
    llvm::IRBuilder<> after(instruction.getNextNode());
    after.SetCurrentDebugLocation(hook_location(instruction));
    hooks.end(after);
    if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      note_result(hooks, after, update);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      note_result(hooks, after, after.CreateExtractValue(exchange, 0));
    }
  }

  void note_result(FlowHooks& hooks, llvm::IRBuilder<>& builder, llvm::Value* value) {
    const uint64_t size = module_.getDataLayout().getTypeStoreSize(value->getType());
    if (size <= 8 && llvm::isPowerOf2_64(size) && !value->getType()->isVectorTy())
      hooks.note_value(builder, value, static_cast<unsigned>(size));
  }

  // Gather and scatter: a range for each lane (16 at most: the rest is left out).
  void add_ranges(HookEmitter& emit, const Access& access, llvm::Value* pointer) {
    const bool writes = access.kind != AccessKind::read;
    const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(pointer->getType());
    if (lanes == nullptr) return emit.range(pointer, bytes_of(emit, access), nullptr, writes);
    for (unsigned i = 0; i < lanes->getNumElements(); ++i)
      emit.range(emit.builder().CreateExtractElement(pointer, i), emit.size(8), nullptr, writes);
  }

  void add_calls(llvm::ArrayRef<llvm::CallBase*> calls, const ControlHooks& ranges, FlowHooks& hooks) {
    llvm::DenseMap<const llvm::CallBase*, std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < sharing_.argument_accesses.size(); ++i)
      ++places.try_emplace(sharing_.argument_accesses[i].call, i, 0).first->second.second;
    for (llvm::CallBase* call : calls) {
      const auto [first, number] = places.lookup(call);
      add_call(*call, llvm::ArrayRef(sharing_.argument_accesses).slice(first, number), ranges, hooks);
    }
  }

  void add_call(llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments, const ControlHooks& ranges,
                FlowHooks& hooks) {
    HookEmitter emit(program_, ranges, call);
    if (call.isInlineAsm()) {
      if (!assembly_touches_memory(call)) return;
      emit_library_state(emit);
      forget_site(emit, ranges);
      hooks.begin(emit.builder());
      return end_behind(call, hooks);
    }
    const CallInfo info = classify_call(call, effects_);
    const FlowCall how = flow_call(info);
    if (leaves_program(info)) emit.note_site();
    add_by_value(emit, call, arguments, hooks);
    if (how == FlowCall::none) return;
    const bool ranges_given = info.effects != nullptr && emit_ranges(emit, call, arguments).any;
    if (how == FlowCall::state || how == FlowCall::before) emit_library_state(emit);
    const bool output = library_object(info) == LibraryObject::output;
    if (output) emit_output_state(emit);
    if (how == FlowCall::inside && !ranges_given && !output) return;
    const bool held =
        (how == FlowCall::inside || how == FlowCall::state) && !call.isMustTailCall() && !call.doesNotReturn();
    if (ranges_given)
      emit.note_site();
    else
      forget_site(emit, ranges);
    hooks.begin(emit.builder());
    if (held) return end_behind(call, hooks);
    hooks.end(emit.builder());
    emit.note_site();
  }

  // The event has no name: a controlled run has none there.
  static void forget_site(HookEmitter& emit, const ControlHooks& hooks) {
    emit.builder().CreateStore(emit.builder().getInt32(HEDDLE_NO_SITE), hooks.site);
  }

  // What the program's code copies for the callee.
  void add_by_value(HookEmitter& emit, const llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments,
                    FlowHooks& hooks) {
    bool any = false;
    for (const ArgumentAccess& access : arguments) {
      if (access.effect != nullptr || access.sharing != Sharing::shared) continue;
      const uint64_t size = module_.getDataLayout().getTypeAllocSize(call.getParamByValType(access.argument));
      emit.range(call.getArgOperand(access.argument), emit.size(size), nullptr, false);
      any = true;
    }
    if (!any) return;
    emit.note_site();
    hooks.begin(emit.builder());
    hooks.end(emit.builder());
  }

  // What stands for the state of libraries that the effects table does not name.
  void emit_library_state(HookEmitter& emit) {
    emit.range(state("heddle_flow_library"), emit.size(8), nullptr, true);
  }
  void emit_output_state(HookEmitter& emit) {
    emit.range(state("heddle_flow_output"), emit.size(8), nullptr, true);
  }

  llvm::GlobalVariable* state(const char* name) {
    if (llvm::GlobalVariable* there = module_.getNamedGlobal(name)) return there;
    llvm::Type* word = llvm::Type::getInt64Ty(module_.getContext());
    auto* made = new llvm::GlobalVariable(module_, word, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::ConstantInt::get(word, 0), name);
    made->setAlignment(llvm::Align(64));
    return made;
  }

  void end_behind(llvm::CallBase& call, FlowHooks& hooks) {
    llvm::SmallVector<llvm::Instruction*, 2> places;
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
      llvm::BasicBlock* next = invoke->getNormalDest();
      if (next->getSinglePredecessor() == nullptr) next = llvm::SplitEdge(invoke->getParent(), next);
      places.push_back(&*next->getFirstInsertionPt());
      llvm::BasicBlock* pad = invoke->getUnwindDest();
      if (ended_.insert(pad).second && pad->isLandingPad()) places.push_back(&*pad->getFirstInsertionPt());
    } else if (call.getNextNode() != nullptr) {
      places.push_back(call.getNextNode());
    }
    for (llvm::Instruction* place : places) {
      llvm::IRBuilder<> builder(place);
      builder.SetCurrentDebugLocation(hook_location(call));
      hooks.end(builder);
    }
  }

  const Program& program_;
  llvm::Module& module_;
  const EffectsTable& effects_;
  SharingResult sharing_;
  llvm::DenseSet<const llvm::BasicBlock*> ended_;
};

}  // namespace

Result<void> instrument_flow(const Program& program, llvm::Module& module) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  return instrument_flow(program, module, effects);
}

Result<void> instrument_flow(const Program& program, llvm::Module& module, const EffectsTable& effects) {
  FlowInstrumentation(program, module, effects).apply();
  return verify_instrumented(module, "flow");
}

}  // namespace heddle
