#include "instrument/flow_accesses.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <cstddef>
#include <utility>

#include "abi/flow.h"
#include "abi/hooks.h"
#include "instrument/flow_stretches.h"
#include "instrument/instrument.h"

namespace heddle {
namespace {

constexpr uint64_t kEvent = 1 << HEDDLE_FLOW_STATE_BITS;  // one more event, in a status
constexpr uint64_t kDirect = HEDDLE_FLOW_direct;
constexpr uint64_t kGranule = 8, kMostBytes = 32;
// Of heddle_flow_thread.
enum Field : unsigned {
  kStatus,
  kTag,
  kHash,
  kSeen,
  kGuard = offsetof(heddle_flow_thread, guard) / sizeof(uint64_t)
};

llvm::Type* accessed_type(const llvm::Instruction& access) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) return store->getValueOperand()->getType();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return exchange->getNewValOperand()->getType();
  return access.getType();
}

const llvm::Value* pointer_of(const llvm::Instruction& access) {
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) return update->getPointerOperand();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return exchange->getPointerOperand();
  return llvm::getLoadStorePointerOperand(&access);
}

uint64_t bytes_of(const llvm::Instruction& access) {
  return access.getModule()->getDataLayout().getTypeStoreSize(accessed_type(access));
}

llvm::Align align_of(const llvm::Instruction& access) {
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) return update->getAlign();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) return exchange->getAlign();
  return llvm::getLoadStoreAlignment(const_cast<llvm::Instruction*>(&access));
}

// Bytes that an access touches.
struct Touched {
  llvm::Value* pointer;
  uint64_t size, align;
  bool writes;
};

// Offsets of bytes that between them lie in all granules that are touched.
llvm::SmallVector<uint64_t, 5> granules_of(uint64_t size, uint64_t align) {
  llvm::SmallVector<uint64_t, 5> out;
  for (uint64_t at = 0; at < size; at += kGranule) out.push_back(at);
  const bool within = align >= kGranule || (size <= align && llvm::isPowerOf2_64(size));
  if (!within && size > 1 && out.back() != size - 1) out.push_back(size - 1);
  return out;
}

// Bytes of a load or store that stays inside one granule and that the hooks for single accesses can perform.
unsigned small_size(const llvm::Instruction& access) {
  if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(access)) return 0;
  const llvm::Type* type = accessed_type(access);
  const uint64_t size = bytes_of(access);
  if (!type->isIntegerTy() && !type->isPointerTy() && !type->isFloatTy() && !type->isDoubleTy()) return 0;
  if (size > kGranule || !llvm::isPowerOf2_64(size) || align_of(access).value() < size) return 0;
  if (type->isIntegerTy() && type->getIntegerBitWidth() != size * 8 && type->getIntegerBitWidth() != 1)
    return 0;
  return static_cast<unsigned>(size);
}

llvm::Value* field(llvm::IRBuilder<>& builder, llvm::Value* self, Field index) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), self, index);
}
// Volatile: other threads look at the status, and the order of these stores and of the access is the point.
void set_status(llvm::IRBuilder<>& builder, llvm::Value* self, llvm::Value* value) {
  llvm::StoreInst* store = builder.CreateStore(value, field(builder, self, kStatus), true);
  store->setAtomic(llvm::AtomicOrdering::Release);
  store->setAlignment(llvm::Align(8));
}

llvm::Value* as_word(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return builder.CreatePtrToInt(value, builder.getInt64Ty());
  if (!type->isIntegerTy())
    value = builder.CreateBitCast(value, builder.getIntNTy(type->getPrimitiveSizeInBits()));
  return builder.CreateZExtOrTrunc(value, builder.getInt64Ty());
}

llvm::Value* from_word(llvm::IRBuilder<>& builder, llvm::Value* word, llvm::Type* type, unsigned size) {
  llvm::Value* value = builder.CreateTrunc(word, builder.getIntNTy(size * 8));
  if (type->isPointerTy()) return builder.CreateIntToPtr(value, type);
  if (type->isIntegerTy()) return builder.CreateZExtOrTrunc(value, type);
  return builder.CreateBitCast(value, type);
}

llvm::Value* multiplied(llvm::IRBuilder<>& builder, llvm::Value* value) {
  return builder.CreateMul(value, builder.getInt64(HEDDLE_FLOW_FACTOR));
}

// `sum` and one value more, or several if it is wide. A sum of nothing is null.
llvm::Value* summed(llvm::IRBuilder<>& builder, llvm::Value* sum, llvm::Value* value) {
  llvm::Type* type = value->getType();
  const uint64_t bits = type->isPtrOrPtrVectorTy() ? 0 : type->getPrimitiveSizeInBits().getFixedValue();
  llvm::SmallVector<llvm::Value*, 4> words;
  if (bits > 64 && bits % 64 == 0) {
    value = builder.CreateBitCast(value, llvm::FixedVectorType::get(builder.getInt64Ty(), bits / 64));
    for (unsigned i = 0; i < bits / 64; ++i) words.push_back(builder.CreateExtractElement(value, i));
  } else if (type->isPointerTy() || (bits != 0 && bits <= 64)) {
    words.push_back(as_word(builder, value));
  }
  for (llvm::Value* word : words)
    sum = sum == nullptr ? word : builder.CreateXor(multiplied(builder, sum), word);
  return sum;
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
  llvm::Type* word = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(word, {word, word, word}, false);
  return builder.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true),
                            {builder.CreatePtrToInt(pointer, word), builder.getInt64(what), value});
}

}  // namespace

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
  self_ = new llvm::GlobalVariable(module, pointer, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                   HEDDLE_FLOW_SELF, nullptr, llvm::GlobalValue::InitialExecTLSModel);
  self_->setDSOLocal(true);
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

void FlowHooks::begin(llvm::IRBuilder<>& builder, FlowInside inside) {
  llvm::SmallVector<llvm::CallInst*, 2> ranges;
  for (auto at = builder.GetInsertPoint(); at != builder.GetInsertBlock()->begin() && ranges.size() < 2;) {
    --at;
    if (llvm::CallInst* range = announced_range(&*at))
      ranges.push_back(range);
    else if (llvm::isa<llvm::CallBase>(*at) && !llvm::isa<llvm::IntrinsicInst>(*at))
      break;
  }
  llvm::SmallVector<llvm::Value*, 5> arguments;
  uint64_t what = inside == FlowInside::plain ? HEDDLE_FLOW_PLAIN : 0;
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

void FlowHooks::end(llvm::IRBuilder<>& builder, FlowInside inside) {
  if (inside == FlowInside::anything) {
    builder.CreateCall(end_);
    return;
  }
  llvm::Value* self = builder.CreateLoad(builder.getPtrTy(), builder.CreateThreadLocalAddress(self_));
  llvm::Value* status = builder.CreateLoad(builder.getInt64Ty(), field(builder, self, kStatus), true);
  llvm::Value* direct = builder.CreateICmpEQ(builder.CreateAnd(status, builder.getInt64(kEvent - 1)),
                                             builder.getInt64(HEDDLE_FLOW_direct));
  llvm::Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(direct, &*builder.GetInsertPoint(), &then, &otherwise,
                                      llvm::MDBuilder(builder.getContext()).createBranchWeights(1000, 1));
  llvm::IRBuilder<> fast(then), slow(otherwise);
  fast.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
  slow.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
  set_status(fast, self, fast.CreateSub(status, fast.getInt64(HEDDLE_FLOW_direct)));
  slow.CreateCall(end_);
}

bool is_inline_access(const llvm::Instruction& access) {
  if (const auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&access)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(copy);
    return length != nullptr && !length->isZero() && length->getValue().ule(kMostBytes) &&
           copy->getDestAddressSpace() == 0 && (transfer == nullptr || transfer->getSourceAddressSpace() == 0);
  }
  if (!llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(access))
    return false;
  if (pointer_of(access)->getType()->getPointerAddressSpace() != 0) return false;
  const llvm::TypeSize size = access.getModule()->getDataLayout().getTypeStoreSize(accessed_type(access));
  return !size.isScalable() && size.getFixedValue() != 0 && size.getFixedValue() <= kMostBytes &&
         !llvm::isa<llvm::StructType, llvm::ArrayType>(accessed_type(access));
}

// What is written first.
static llvm::SmallVector<Touched, 2> touched_by(const llvm::Instruction& access,
                                                llvm::ArrayRef<HookedAccess> hooked) {
  const auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&access);
  if (copy == nullptr)
    return {
        {hooked[0].pointer, bytes_of(access), align_of(access).value(), !llvm::isa<llvm::LoadInst>(access)}};
  llvm::SmallVector<Touched, 2> out;
  const uint64_t size = llvm::cast<llvm::ConstantInt>(copy->getLength())->getZExtValue();
  for (const HookedAccess& one : hooked) {
    const bool writes = one.access.kind != AccessKind::read;
    const llvm::MaybeAlign align =
        writes ? copy->getDestAlign() : llvm::cast<llvm::MemTransferInst>(copy)->getSourceAlign();
    out.insert(writes ? out.begin() : out.end(), {one.pointer, size, align.valueOrOne().value(), writes});
  }
  return out;
}

// Between two accesses of a stretch: code that neither waits nor counts events.
static bool is_quick(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) return true;
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
  return intrinsic != nullptr && (intrinsic->isAssumeLikeIntrinsic() || intrinsic->doesNotAccessMemory());
}

class FlowFunction {
 public:
  FlowFunction(llvm::Function& function, const FlowAccesses& accesses, const Program& program, FlowHooks& hooks)
      : function_(function), accesses_(accesses), program_(program), hooks_(hooks) {}

  void run() {
    find();
    if (stretches_.empty()) return;
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> builder(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    builder.SetCurrentDebugLocation(hook_location(*builder.GetInsertPoint()));
    self_ = builder.CreateAlloca(builder.getPtrTy());
    number_ = builder.CreateAlloca(builder.getInt64Ty());
    hash_ = builder.CreateAlloca(builder.getInt64Ty());
    look(builder);
    for (const Stretch& stretch : stretches_) {
      sum_ = nullptr;
      for (const auto& [access, hooked] : stretch.accesses) add(*access, touched_by(*access, *hooked));
      mix();
      if (stretch.ends) close(last_);
    }
    for (llvm::BasicBlock* block : ends_) close(block->getTerminator());
    for (llvm::CallBase* call : calls_) look_behind(*call);
    llvm::DominatorTree tree(function_);
    llvm::PromoteMemToReg({self_, number_, hash_}, tree);
  }

 private:
  struct Stretch {
    std::vector<std::pair<llvm::Instruction*, const llvm::SmallVector<HookedAccess, 2>*>> accesses;
    bool ends = true;  // with its last access; else on the edges that lead out, or with the next stretch
  };
  // The word of a granule, and whether the granule is written.
  struct Word {
    llvm::Value* at;  // HEDDLE_FLOW_ASIDE bytes before it: instructions have that for nothing
    bool writes;
  };
  using Words = llvm::SmallVector<Word, 5>;

  void find() {
    FlowStretchEnds ends(function_);
    std::vector<std::pair<size_t, llvm::BasicBlock*>> last;  // stretches that reach the end of their blocks
    for (llvm::BasicBlock& block : function_) {
      Stretch now;
      const auto end = [&] {
        if (!now.accesses.empty()) stretches_.push_back(std::exchange(now, {}));
      };
      for (llvm::Instruction& instruction : block) {
        const auto found = accesses_.find(&instruction);
        if (found != accesses_.end() && is_inline_access(instruction)) {
          now.accesses.emplace_back(&instruction, &found->second);
          ends.add(block, FlowStretchEnds::First::access);
        } else if (!is_quick(instruction)) {
          end();
          ends.add(block, FlowStretchEnds::First::call);
          calls_.push_back(llvm::cast<llvm::CallBase>(&instruction));
        }
      }
      if (!now.accesses.empty()) last.emplace_back(stretches_.size(), &block);
      end();
    }
    for (const auto& [index, block] : last) stretches_[index].ends = !ends.leave_open(*block);
    ends_ = ends.split();
  }

  // What the thread's state is now: where others may have changed it. Even which one it is: a child is none.
  void look(llvm::IRBuilder<>& builder) {
    llvm::Value* self = builder.CreateLoad(builder.getPtrTy(), builder.CreateThreadLocalAddress(hooks_.self_));
    llvm::Value* status = builder.CreateLoad(builder.getInt64Ty(), field(builder, self, kStatus));
    builder.CreateStore(self, self_);
    builder.CreateStore(builder.CreateOr(builder.CreateAnd(status, builder.getInt64(~(kEvent - 1))), kDirect),
                        number_);
    builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), field(builder, self, kHash)), hash_);
  }

  void look_behind(llvm::CallBase& call) {
    if (call.isMustTailCall()) return;
    llvm::SmallVector<llvm::Instruction*, 2> places;
    if (call.isTerminator()) {
      for (llvm::BasicBlock* next : llvm::successors(&call)) places.push_back(&*next->getFirstInsertionPt());
    } else if (!llvm::isa<llvm::UnreachableInst>(call.getNextNode())) {
      places.push_back(call.getNextNode());
    }
    for (llvm::Instruction* place : places) {
      if (place->isEHPad()) continue;
      llvm::IRBuilder<> builder(place);
      builder.SetCurrentDebugLocation(hook_location(call));
      look(builder);
    }
  }

  llvm::Value* value_of(llvm::IRBuilder<>& builder, llvm::AllocaInst* variable) {
    return builder.CreateLoad(variable->getAllocatedType(), variable);
  }

  void add(llvm::Instruction& access, llvm::ArrayRef<Touched> touched) {
    const unsigned size = small_size(access);
    llvm::IRBuilder<> builder(&access);
    builder.SetCurrentDebugLocation(hook_location(access));
    llvm::Value* self = value_of(builder, self_);
    llvm::Value* number = builder.CreateAdd(value_of(builder, number_), builder.getInt64(kEvent));
    builder.CreateStore(number, number_);
    set_status(builder, self, number);
    const Words words = words_of(builder, touched);
    llvm::Instruction *then = nullptr, *otherwise = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(all_mine(builder, words, tag(builder, self)), &access, &then,
                                        &otherwise,
                                        llvm::MDBuilder(access.getContext()).createBranchWeights(1000, 1));
    llvm::BasicBlock* behind = access.getParent();
    unless_guarded(words, self, then, otherwise);
    // The program's own instruction, which has a number, goes where its hook may be.
    llvm::Instruction* direct = access.clone();
    direct->insertBefore(then);
    llvm::IRBuilder<> slow(otherwise);
    slow.SetCurrentDebugLocation(hook_location(access));
    llvm::Value* told =
        size != 0 ? add_hook(slow, access, touched[0].pointer, size) : add_event(slow, access, touched);
    look(slow);  // handlers of signals may have run in the hook, and counted events
    last_ = &*behind->getFirstInsertionPt();
    if (!access.getType()->isVoidTy()) add_value(access, direct, told, then, otherwise);
    if (size != 0) {
      if (last_ == &access) last_ = access.getNextNode();
      access.eraseFromParent();
    }
  }

  // What the stretch has read goes into the hash: behind the last access, before `last_`.
  void mix() {
    if (sum_ == nullptr) return;
    llvm::IRBuilder<> builder(last_);
    builder.SetCurrentDebugLocation(hook_location(*last_));
    llvm::Value* mixed = multiplied(builder, builder.CreateXor(value_of(builder, hash_), sum_));
    builder.CreateStore(mixed, hash_);
    builder.CreateStore(mixed, field(builder, value_of(builder, self_), kHash));
  }

  void close(llvm::Instruction* before) {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(hook_location(*before));
    set_status(builder, value_of(builder, self_),
               builder.CreateSub(value_of(builder, number_), builder.getInt64(kDirect)));
  }

  void add_value(llvm::Instruction& access, llvm::Instruction* direct, llvm::Value* told,
                 llvm::Instruction* then, llvm::Instruction* otherwise) {
    llvm::BasicBlock* behind = then->getSuccessor(0);
    llvm::IRBuilder<> after(behind, behind->begin());
    after.SetCurrentDebugLocation(hook_location(access));
    llvm::PHINode* value = after.CreatePHI(access.getType(), 2);
    access.replaceAllUsesWith(value);
    value->addIncoming(direct, then->getParent());
    value->addIncoming(told, otherwise->getParent());
    after.SetInsertPoint(last_);
    const bool exchange = llvm::isa<llvm::AtomicCmpXchgInst>(direct);
    sum_ = summed(after, sum_, exchange ? after.CreateExtractValue(value, 0) : value);
  }

  static Words words_of(llvm::IRBuilder<>& builder, llvm::ArrayRef<Touched> touched) {
    Words words;
    for (const Touched& one : touched) {
      llvm::Value* number = builder.CreatePtrToInt(one.pointer, builder.getInt64Ty());
      for (const uint64_t offset : granules_of(one.size, one.align)) {
        llvm::Value* at = offset == 0 ? number : builder.CreateAdd(number, builder.getInt64(offset));
        if (one.align < kGranule) at = builder.CreateAnd(at, builder.getInt64(~(kGranule - 1)));
        at = builder.CreateXor(at, builder.getInt64(HEDDLE_FLOW_SHADOW));
        words.push_back({builder.CreateIntToPtr(at, builder.getPtrTy()), one.writes});
      }
    }
    return words;
  }

  // Volatile, as all loads of what other threads change: x86 keeps their order, and folds them into
  // comparisons.
  static llvm::Value* tag(llvm::IRBuilder<>& builder, llvm::Value* self) {
    return builder.CreateLoad(builder.getInt32Ty(), field(builder, self, kTag), true);
  }

  static llvm::Value* load_word(llvm::IRBuilder<>& builder, llvm::Type* type, const Word& word) {
    return builder.CreateLoad(type, builder.CreateConstGEP1_64(builder.getInt8Ty(), word.at, HEDDLE_FLOW_ASIDE),
                              true);
  }

  // One granule by an instruction of its own: LLVM folds no load of what others change into a comparison.
  static llvm::Value* is_mine(llvm::IRBuilder<>& builder, const Word& word, llvm::Value* tag) {
    auto* type = llvm::FunctionType::get(builder.getInt8Ty(), {tag->getType(), builder.getPtrTy()}, false);
    llvm::InlineAsm* compare =
        llvm::InlineAsm::get(type, "cmpl $1, " + std::to_string(HEDDLE_FLOW_ASIDE) + "($2)",
                             "={@cce},r,r,~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true);
    return builder.CreateICmpNE(builder.CreateCall(type, compare, {tag, word.at}), builder.getInt8(0));
  }

  static llvm::Value* all_mine(llvm::IRBuilder<>& builder, const Words& words, llvm::Value* tag) {
    if (words.size() == 1) return is_mine(builder, words[0], tag);
    llvm::Value* other = nullptr;
    for (const Word& word : words) {
      llvm::Value* half = load_word(builder, builder.getInt32Ty(), word);
      llvm::Value* differs = builder.CreateXor(half, tag);
      other = other == nullptr ? differs : builder.CreateOr(other, differs);
    }
    return builder.CreateICmpEQ(other, builder.getInt32(0));
  }

  // Before `otherwise`: to `then` if the granules are guarded by the section that the thread is in, or
  // everybody may read those that are read, and what was written there is known to have been so before. The
  // hook is called behind this.
  static void unless_guarded(const Words& words, llvm::Value* self, llvm::Instruction* then,
                             llvm::Instruction* otherwise) {
    llvm::BasicBlock* check = otherwise->getParent();
    llvm::BasicBlock* hook = check->splitBasicBlock(otherwise);
    check->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(check);
    builder.SetCurrentDebugLocation(otherwise->getDebugLoc());
    llvm::Value* seen = builder.CreateLoad(builder.getPtrTy(), field(builder, self, kSeen));
    llvm::Value* guard = builder.CreateLoad(builder.getInt64Ty(), field(builder, self, kGuard), true);
    llvm::Value* all = nullptr;
    for (const Word& one : words) {
      llvm::Value* word = load_word(builder, builder.getInt64Ty(), one);
      const auto part = [&](unsigned from, unsigned bits) {
        return builder.CreateAnd(builder.CreateLShr(word, from), builder.getInt64((uint64_t{1} << bits) - 1));
      };
      llvm::Value* good = builder.CreateICmpEQ(
          builder.CreateShl(builder.CreateXor(word, guard), 64 - HEDDLE_FLOW_HANDS_AT), builder.getInt64(0));
      if (words.size() > 1)
        good = builder.CreateOr(
            good, builder.CreateICmpEQ(builder.CreateTrunc(word, builder.getInt32Ty()), tag(builder, self)));
      if (!one.writes) {
        llvm::Value* slot = part(HEDDLE_FLOW_SLOT_AT, HEDDLE_FLOW_NUMBER_AT - HEDDLE_FLOW_SLOT_AT);
        llvm::Value* known = builder.CreateLoad(builder.getInt64Ty(),
                                                builder.CreateInBoundsGEP(builder.getInt64Ty(), seen, slot));
        llvm::Value* read = builder.CreateAnd(
            builder.CreateICmpEQ(part(0, HEDDLE_FLOW_SLOT_AT), builder.getInt64(HEDDLE_FLOW_read)),
            builder.CreateICmpUGE(known, part(HEDDLE_FLOW_NUMBER_AT, HEDDLE_FLOW_NUMBER_BITS)));
        good = builder.CreateOr(good, read);
      }
      all = all == nullptr ? good : builder.CreateAnd(all, good);
    }
    builder.CreateCondBr(all, then->getParent(), hook);
  }

  // A small access by its hook. What it read.
  llvm::Value* add_hook(llvm::IRBuilder<>& builder, llvm::Instruction& access, llvm::Value* pointer,
                        unsigned size) {
    const uint64_t what = uint64_t{program_.id_of(access).value} << 8 | size;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) {
      call_apart(builder, HEDDLE_HOOK_FLOW_STORE, pointer, what, as_word(builder, store->getValueOperand()));
      return nullptr;
    }
    return from_word(builder, call_apart(builder, HEDDLE_HOOK_FLOW_LOAD, pointer, what, builder.getInt64(0)),
                     access.getType(), size);
  }

  // Any other access, between begin and end of its event.
  llvm::Value* add_event(llvm::IRBuilder<>& builder, llvm::Instruction& access,
                         llvm::ArrayRef<Touched> touched) {
    const uint64_t writes = touched[0].writes ? HEDDLE_FLOW_WIDE_WRITES : 0;
    const uint64_t what = uint64_t{program_.id_of(access).value} << 8 | writes | touched[0].size;
    llvm::Value* from = builder.getInt64(0);
    if (touched.size() > 1) from = builder.CreatePtrToInt(touched[1].pointer, builder.getInt64Ty());
    call_apart(builder, HEDDLE_HOOK_FLOW_BEGIN_WIDE, touched[0].pointer, what, from);
    access.moveBefore(*builder.GetInsertBlock(), builder.GetInsertPoint());
    call_apart(builder, HEDDLE_HOOK_FLOW_END_PART, touched[0].pointer, 0, builder.getInt64(0));
    return &access;
  }

  llvm::Function& function_;
  const FlowAccesses& accesses_;
  const Program& program_;
  FlowHooks& hooks_;
  std::vector<Stretch> stretches_;
  std::vector<llvm::CallBase*> calls_;
  std::vector<llvm::BasicBlock*> ends_;  // blocks on edges
  // Registers in the end. The number is that of the last event, as the status says it while that is under way.
  llvm::AllocaInst *self_ = nullptr, *number_ = nullptr, *hash_ = nullptr;
  llvm::Value* sum_ = nullptr;         // of what the stretch has read
  llvm::Instruction* last_ = nullptr;  // behind the last access
};

void add_flow_accesses(llvm::Function& function, const FlowAccesses& accesses, const Program& program,
                       FlowHooks& hooks) {
  FlowFunction(function, accesses, program, hooks).run();
}

}  // namespace heddle
