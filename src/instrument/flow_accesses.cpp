#include "instrument/flow_accesses.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <utility>

#include "abi/flow.h"
#include "abi/hooks.h"
#include "instrument/flow_stretches.h"
#include "instrument/instrument.h"

namespace heddle {
namespace {

constexpr uint64_t kDirect = HEDDLE_FLOW_direct;

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

// What the hash is behind one value more, or several if it is wide.
llvm::Value* mixed(llvm::IRBuilder<>& builder, llvm::Value* hash, llvm::Value* value) {
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
    hash = builder.CreateAdd(builder.CreateMul(hash, builder.getInt64(HEDDLE_FLOW_FACTOR)), word);
  return hash;
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

// Between two accesses of a stretch: code that neither waits nor counts events.
bool is_quick(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) return true;
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
  return intrinsic != nullptr && (intrinsic->isAssumeLikeIntrinsic() || intrinsic->doesNotAccessMemory());
}

// Between two accesses of a group: what may be there twice.
bool is_copyable(const llvm::Instruction& instruction) {
  return !llvm::isa<llvm::AllocaInst>(instruction) && !instruction.getType()->isTokenTy();
}

// The word of a granule.
struct Word {
  llvm::Value* at;  // `offset` bytes before it: instructions have that for nothing
  int64_t offset;
  bool writes;
};
using Words = llvm::SmallVector<Word, 8>;

Words words_of(llvm::IRBuilder<>& builder, llvm::ArrayRef<FlowGranule> granules) {
  const auto shadow_of = [&](llvm::Value* at) {
    return builder.CreateIntToPtr(builder.CreateXor(at, builder.getInt64(HEDDLE_FLOW_SHADOW)),
                                  builder.getPtrTy());
  };
  Words words;
  llvm::SmallDenseMap<llvm::Value*, llvm::Value*, 8> aligned;
  for (const FlowGranule& granule : granules) {
    llvm::Value* number = builder.CreatePtrToInt(granule.pointer, builder.getInt64Ty());
    if (granule.aligned) {
      llvm::Value*& at = aligned[granule.pointer];
      if (at == nullptr) at = shadow_of(number);
      words.push_back({at, HEDDLE_FLOW_ASIDE + granule.offset, granule.writes});
    } else {
      number = builder.CreateAdd(number, builder.getInt64(static_cast<uint64_t>(granule.offset)));
      number = builder.CreateAnd(number, builder.getInt64(~uint64_t{7}));
      words.push_back({shadow_of(number), HEDDLE_FLOW_ASIDE, granule.writes});
    }
  }
  return words;
}

// One granule by an instruction of its own: LLVM folds no load of what others change into a comparison.
llvm::Value* is_mine(llvm::IRBuilder<>& builder, const Word& word, llvm::Value* tag) {
  auto* type = llvm::FunctionType::get(builder.getInt8Ty(), {tag->getType(), builder.getPtrTy()}, false);
  llvm::InlineAsm* compare =
      llvm::InlineAsm::get(type, "cmpl $1, " + std::to_string(word.offset) + "($2)",
                           "={@cce},r,r,~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true);
  return builder.CreateICmpNE(builder.CreateCall(type, compare, {tag, word.at}), builder.getInt8(0));
}

// Whether the granule may be accessed without a hook though it is not the thread's own: it is guarded by the
// section that the thread is in, or by the lock that it holds, or is read, as everybody may, and what was
// written there is known to have been so before.
llvm::Value* is_free(llvm::IRBuilder<>& builder, const Word& one, llvm::Value* self, llvm::Value* tag) {
  llvm::Value* word = builder.CreateLoad(
      builder.getInt64Ty(),
      builder.CreateConstGEP1_64(builder.getInt8Ty(), one.at, static_cast<uint64_t>(one.offset)), true);
  const auto part = [&](unsigned from, unsigned bits) {
    return builder.CreateAnd(builder.CreateLShr(word, from), builder.getInt64((uint64_t{1} << bits) - 1));
  };
  const auto is_like = [&](FlowField field) {
    llvm::Value* other = builder.CreateLoad(builder.getInt64Ty(), flow_field(builder, self, field), true);
    return builder.CreateICmpEQ(builder.CreateShl(builder.CreateXor(word, other), 64 - HEDDLE_FLOW_HANDS_AT),
                                builder.getInt64(0));
  };
  llvm::Value* good = builder.CreateOr(is_like(FlowField::guard), is_like(FlowField::held));
  good = builder.CreateOr(good, builder.CreateICmpEQ(builder.CreateTrunc(word, builder.getInt32Ty()), tag));
  if (one.writes) return good;
  llvm::Value* seen = builder.CreateLoad(builder.getPtrTy(), flow_field(builder, self, FlowField::seen));
  llvm::Value* slot = part(HEDDLE_FLOW_SLOT_AT, HEDDLE_FLOW_NUMBER_AT - HEDDLE_FLOW_SLOT_AT);
  llvm::Value* known =
      builder.CreateLoad(builder.getInt64Ty(), builder.CreateInBoundsGEP(builder.getInt64Ty(), seen, slot));
  llvm::Value* read =
      builder.CreateAnd(builder.CreateICmpEQ(part(0, HEDDLE_FLOW_SLOT_AT), builder.getInt64(HEDDLE_FLOW_read)),
                        builder.CreateICmpUGE(known, part(HEDDLE_FLOW_NUMBER_AT, HEDDLE_FLOW_NUMBER_BITS)));
  return builder.CreateOr(good, read);
}

class FlowFunction {
 public:
  FlowFunction(llvm::Function& function, const FlowAccesses& accesses, const Program& program,
               const FlowHooks& hooks)
      : function_(function), accesses_(accesses), program_(program), hooks_(hooks) {}

  void run() {
    const FlowStretches::Edges edges = find();
    if (groups_.empty()) return;
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> builder(&entry, entry.begin());
    self_ = builder.CreateAlloca(builder.getPtrTy());
    number_ = builder.CreateAlloca(builder.getInt64Ty());
    hash_ = builder.CreateAlloca(builder.getInt64Ty());
    for (llvm::BasicBlock* block : edges.begins) open(block->getTerminator());
    for (const FlowGroup& group : groups_) add(group);
    for (llvm::BasicBlock* block : edges.ends) close(block->getTerminator());
    llvm::DominatorTree tree(function_);
    llvm::PromoteMemToReg({self_, number_, hash_}, tree);
  }

 private:
  FlowStretches::Edges find() {
    FlowStretches stretches(function_);
    std::vector<std::pair<size_t, llvm::BasicBlock*>> first, last;  // groups at the ends of their blocks
    for (llvm::BasicBlock& block : function_) {
      size_t begin = groups_.size();  // of the stretch
      bool any_call = false;
      FlowGroupBuilder group;
      const auto end_group = [&] {
        if (!group.is_empty()) groups_.push_back(group.take());
      };
      for (llvm::Instruction& instruction : block) {
        const auto found = accesses_.find(&instruction);
        if (found != accesses_.end() && is_inline_access(instruction)) {
          const FlowAccess access{&instruction, found->second};
          if (!group.fits(access)) end_group();
          group.add(access);
          stretches.add(block, FlowStretches::First::access);
        } else if (!is_quick(instruction)) {
          end_group();
          stretches.add(block, FlowStretches::First::call);
          if (groups_.size() > begin) {
            if (!any_call) first.emplace_back(begin, &block);
            groups_[begin].opens = any_call;
            groups_.back().closes = true;
          }
          any_call = true;
          begin = groups_.size();
        } else if (!is_copyable(instruction)) {
          end_group();
        }
        group.pass(instruction);
      }
      end_group();
      if (groups_.size() == begin) continue;
      if (!any_call) first.emplace_back(begin, &block);
      groups_[begin].opens = any_call;
      last.emplace_back(groups_.size() - 1, &block);
    }
    for (const auto& [index, block] : last) groups_[index].closes = !stretches.leave_open(*block);
    for (const auto& [index, block] : first) groups_[index].opens = !stretches.is_open_at(*block);
    return stretches.split();
  }

  llvm::Value* value_of(llvm::IRBuilder<>& builder, llvm::AllocaInst* variable) {
    return builder.CreateLoad(variable->getAllocatedType(), variable);
  }

  // What the thread's state is now: where others may have changed it. Even which one it is: a child is none.
  void look(llvm::IRBuilder<>& builder) {
    llvm::Value* self = hooks_.self(builder);
    llvm::Value* status =
        builder.CreateLoad(builder.getInt64Ty(), flow_field(builder, self, FlowField::status));
    builder.CreateStore(self, self_);
    builder.CreateStore(
        builder.CreateOr(builder.CreateAnd(status, builder.getInt64(~(kFlowEvent - 1))), kDirect), number_);
    builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), flow_field(builder, self, FlowField::hash)),
                        hash_);
  }

  // The next event is under way.
  void announce(llvm::IRBuilder<>& builder) {
    set_flow_status(builder, value_of(builder, self_),
                    builder.CreateAdd(value_of(builder, number_), builder.getInt64(kFlowEvent)));
  }

  void write_hash(llvm::IRBuilder<>& builder) {
    builder.CreateStore(value_of(builder, hash_),
                        flow_field(builder, value_of(builder, self_), FlowField::hash));
  }

  void open(llvm::Instruction* before) {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(hook_location(*before));
    look(builder);
    announce(builder);
  }

  void close(llvm::Instruction* before) {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(hook_location(*before));
    write_hash(builder);
    set_flow_status(builder, value_of(builder, self_),
                    builder.CreateSub(value_of(builder, number_), builder.getInt64(kDirect)));
  }

  void add(const FlowGroup& group) {
    llvm::Instruction* first = group.accesses.front().instruction;
    if (group.opens) open(first);
    llvm::SmallVector<Touched, 8> touched;
    for (const FlowAccess& one : group.accesses)
      llvm::append_range(touched, touched_by(*one.instruction, one.hooked));
    const FlowGranules granules = granules_of(touched, function_.getDataLayout());

    llvm::BasicBlock* before = first->getParent();
    llvm::BasicBlock* slow = before->splitBasicBlock(first);
    llvm::BasicBlock* behind = slow->splitBasicBlock(group.accesses.back().instruction->getNextNode());
    llvm::ValueToValueMapTy copies;
    llvm::BasicBlock* fast = copy_of(slow, copies);
    join(slow, fast, behind, copies);
    look_at(granules, before, fast, slow);
    make_as_they_are(group, fast, copies);
    make_by_hooks(group, slow);
    if (group.closes) close(&*behind->getFirstInsertionPt());
  }

  llvm::BasicBlock* copy_of(llvm::BasicBlock* block, llvm::ValueToValueMapTy& copies) {
    llvm::BasicBlock* copy = llvm::CloneBasicBlock(block, copies, "", &function_);
    copy->moveBefore(block);
    llvm::remapInstructionsInBlocks({copy}, copies);
    return copy;
  }

  // What was made in either block and is used behind.
  static void join(llvm::BasicBlock* slow, llvm::BasicBlock* fast, llvm::BasicBlock* behind,
                   llvm::ValueToValueMapTy& copies) {
    for (llvm::Instruction& made : *slow) {
      if (!made.isUsedOutsideOfBlock(slow)) continue;
      llvm::PHINode* phi = llvm::PHINode::Create(made.getType(), 2, "", behind->begin());
      made.replaceUsesOutsideBlock(phi, slow);
      phi->addIncoming(&made, slow);
      phi->addIncoming(copies[&made], fast);
    }
  }

  // Behind `before`: to `fast` if all granules are the thread's, or free to it.
  void look_at(llvm::ArrayRef<FlowGranule> granules, llvm::BasicBlock* before, llvm::BasicBlock* fast,
               llvm::BasicBlock* slow) {
    llvm::LLVMContext& context = function_.getContext();
    const auto new_block = [&](llvm::BasicBlock* next) {
      return llvm::BasicBlock::Create(context, "", &function_, next);
    };
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(hook_location(slow->front()));
    llvm::Value* self = value_of(builder, self_);
    // Volatile, as all loads of what other threads change: x86 keeps their order.
    llvm::Value* tag =
        builder.CreateLoad(builder.getInt32Ty(), flow_field(builder, self, FlowField::tag), true);
    const Words words = words_of(builder, granules);
    llvm::BasicBlock* others = new_block(slow);
    llvm::MDNode* likely = llvm::MDBuilder(context).createBranchWeights(1000, 1);
    for (const Word& word : words) {
      llvm::BasicBlock* next = &word == &words.back() ? fast : new_block(fast);
      builder.CreateCondBr(is_mine(builder, word, tag), next, others, likely);
      builder.SetInsertPoint(next);
    }
    builder.SetInsertPoint(others);
    // A thread that is waited for, or is to run a handler, comes to a hook whatever it accesses.
    llvm::Value* all = builder.CreateICmpNE(tag, builder.getInt32(~0u));
    for (const Word& word : words) all = builder.CreateAnd(all, is_free(builder, word, self, tag));
    builder.CreateCondBr(all, fast, slow);
  }

  void mix(llvm::IRBuilder<>& builder, llvm::Value* value) {
    if (value->getType()->isVoidTy()) return;
    if (value->getType()->isStructTy()) value = builder.CreateExtractValue(value, 0);  // compare-and-exchange
    builder.CreateStore(mixed(builder, value_of(builder, hash_), value), hash_);
  }

  void make_as_they_are(const FlowGroup& group, llvm::BasicBlock* fast, llvm::ValueToValueMapTy& copies) {
    for (const FlowAccess& one : group.accesses) {
      auto* access = llvm::cast<llvm::Instruction>(copies[one.instruction]);
      llvm::IRBuilder<> builder(access->getNextNode());
      builder.SetCurrentDebugLocation(hook_location(*access));
      mix(builder, access);
    }
    llvm::IRBuilder<> builder(fast->getTerminator());
    builder.CreateStore(
        builder.CreateAdd(value_of(builder, number_), builder.getInt64(group.accesses.size() * kFlowEvent)),
        number_);
  }

  void make_by_hooks(const FlowGroup& group, llvm::BasicBlock* slow) {
    for (const FlowAccess& one : group.accesses) make_by_hook(*one.instruction, one.hooked);
    if (group.closes) return;
    llvm::IRBuilder<> builder(slow->getTerminator());
    builder.SetCurrentDebugLocation(hook_location(slow->front()));
    write_hash(builder);  // a fault finds all values but those of the event that the status says is under way
    announce(builder);
  }

  void make_by_hook(llvm::Instruction& access, llvm::ArrayRef<HookedAccess> hooked) {
    llvm::IRBuilder<> builder(&access);
    builder.SetCurrentDebugLocation(hook_location(access));
    write_hash(builder);
    announce(builder);
    const llvm::SmallVector<Touched, 2> touched = touched_by(access, hooked);
    llvm::Value* told = &access;
    const unsigned size = small_size(access);
    if (size != 0) {
      told = add_hook(builder, access, touched[0].pointer, size);
    } else {
      begin_event(builder, access, touched);
      builder.SetInsertPoint(access.getNextNode());
      call_apart(builder, HEDDLE_HOOK_FLOW_END_PART, touched[0].pointer, 0, builder.getInt64(0));
    }
    look(builder);  // handlers of signals may have run in the hook, and counted events
    if (told != nullptr) mix(builder, told);
    if (size == 0) return;
    if (told != nullptr) access.replaceAllUsesWith(told);
    access.eraseFromParent();
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

  // Any other access is made between begin and end of its event.
  void begin_event(llvm::IRBuilder<>& builder, llvm::Instruction& access, llvm::ArrayRef<Touched> touched) {
    const uint64_t writes = touched[0].writes ? HEDDLE_FLOW_WIDE_WRITES : 0;
    const uint64_t what = uint64_t{program_.id_of(access).value} << 8 | writes | touched[0].size;
    llvm::Value* from = builder.getInt64(0);
    if (touched.size() > 1) from = builder.CreatePtrToInt(touched[1].pointer, builder.getInt64Ty());
    call_apart(builder, HEDDLE_HOOK_FLOW_BEGIN_WIDE, touched[0].pointer, what, from);
  }

  llvm::Function& function_;
  const FlowAccesses& accesses_;
  const Program& program_;
  const FlowHooks& hooks_;
  std::vector<FlowGroup> groups_;
  // Registers in the end; known while a stretch is open. The number is that of the last event, as the status
  // says it while that is under way.
  llvm::AllocaInst *self_ = nullptr, *number_ = nullptr, *hash_ = nullptr;
};

}  // namespace

void add_flow_accesses(llvm::Function& function, const FlowAccesses& accesses, const Program& program,
                       const FlowHooks& hooks) {
  FlowFunction(function, accesses, program, hooks).run();
}

}  // namespace heddle
