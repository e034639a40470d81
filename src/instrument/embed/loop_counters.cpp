#include "instrument/embed/loop_counters.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "program/counting_variables.h"

namespace heddle {
namespace {

// What people see who look with a debugger.
constexpr char kVariableName[] = "__heddle_loop_count";

class LoopCounters {
 public:
  explicit LoopCounters(llvm::Function& function)
      : function_(function),
        word_(llvm::Type::getInt64Ty(function.getContext())),
        tree_(function),
        loops_(tree_),
        builder_(*function.getParent()) {}

  bool run() {
    bool changed = false;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      const std::vector<CountingVariable> known = counting_variables(*loop, loops_, tree_);
      changed |= known.empty() || !keep(*loop, known.front()) ? add(*loop) : true;
    }
    if (changed) builder_.finalize();
    return changed;
  }

 private:
  bool add(llvm::Loop& loop) {
    llvm::BasicBlock* header = loop.getHeader();
    if (header->isEHPad()) return false;
    llvm::BasicBlock* exit = optimised() ? exit_of(loop) : nullptr;
    if (exit != nullptr) {
      count_in_register(loop, exit);
      return true;
    }
    llvm::BasicBlock* before = loop.getLoopPreheader();
    if (before == nullptr) before = llvm::InsertPreheaderForLoop(&loop, &tree_, &loops_, nullptr, false);
    if (before == nullptr) return false;  // indirect jumps lead into it
    count_in_memory(loop, before);
    return true;
  }

  // The program counts itself: where the variable begins with another value, that must live as long as the
  // loop.
  bool keep(llvm::Loop& loop, const CountingVariable& counting) {
    if (!llvm::isa<llvm::PHINode>(counting.variable)) return true;
    if (counting.base != nullptr && !llvm::isa<llvm::AllocaInst>(counting.base)) {
      llvm::BasicBlock* exit = optimised() ? exit_of(loop) : nullptr;
      if (exit == nullptr) return false;
      keep_alive(const_cast<llvm::Value*>(counting.base), *exit);
    }
    for (const llvm::Instruction* next : counting.next) keep_as_it_is(*const_cast<llvm::Instruction*>(next));
    return true;
  }

  bool optimised() const { return !function_.hasFnAttribute(llvm::Attribute::OptimizeNone); }

  // A use that is no code: empty assembly which wants the value in a register.
  static void keep_alive(llvm::Value* value, llvm::BasicBlock& at) {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(value->getContext()), {value->getType()}, false);
    llvm::IRBuilder<>(&*at.getFirstInsertionPt())
        .CreateCall(type, llvm::InlineAsm::get(type, "", "r", /*hasSideEffects=*/true), {value});
  }

  // Code generation would put other variables in its place (loop strength reduction) from which it cannot be
  // computed back everywhere. A hint is no code, but not understood there.
  llvm::Value* keep_as_it_is(llvm::Instruction& next) {
    for (llvm::User* user : next.users())
      if (is_hint(*user)) return user;
    llvm::IRBuilder<> behind(next.getNextNode());
    llvm::Type* type = next.getType();
    llvm::CallInst* kept =
        type->isPointerTy()
            ? behind.CreateIntrinsic(llvm::Intrinsic::strip_invariant_group, {type}, {&next})
            : behind.CreateIntrinsic(llvm::Intrinsic::expect, {type}, {&next, llvm::ConstantInt::get(type, 0)});
    next.replaceUsesWithIf(kept, [&](llvm::Use& use) { return use.getUser() != kept; });
    return kept;
  }

  // A block where only this loop leads to; made where there is none, for the price of a jump.
  llvm::BasicBlock* exit_of(llvm::Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 8> exits;
    loop.getUniqueExitBlocks(exits);
    llvm::erase_if(exits, [](const llvm::BasicBlock* exit) { return exit->isEHPad(); });
    for (llvm::BasicBlock* exit : exits)
      if (llvm::all_of(llvm::predecessors(exit), [&](llvm::BasicBlock* from) { return loop.contains(from); }))
        return exit;
    for (llvm::BasicBlock* exit : exits) {
      llvm::SmallVector<llvm::BasicBlock*, 8> inside;
      llvm::copy_if(llvm::predecessors(exit), std::back_inserter(inside),
                    [&](llvm::BasicBlock* from) { return loop.contains(from); });
      if (llvm::any_of(inside, [](const llvm::BasicBlock* from) {
            return llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(from->getTerminator());
          }))
        continue;
      if (llvm::BasicBlock* apart =
              llvm::SplitBlockPredecessors(exit, inside, ".heddle.exit", &tree_, &loops_, nullptr, false))
        return apart;
    }
    return nullptr;
  }

  void count_in_register(llvm::Loop& loop, llvm::BasicBlock* exit) {
    llvm::BasicBlock* header = loop.getHeader();
    auto* count = llvm::PHINode::Create(word_, 2, "heddle.loop", header->begin());
    llvm::IRBuilder<> begin(&*header->getFirstInsertionPt());
    auto* next = llvm::cast<llvm::Instruction>(begin.CreateAdd(count, llvm::ConstantInt::get(word_, 1)));
    llvm::Value* kept = keep_as_it_is(*next);
    for (llvm::BasicBlock* from : llvm::predecessors(header))
      count->addIncoming(loop.contains(from) ? kept : llvm::ConstantInt::get(word_, 0), from);
    llvm::IRBuilder<>(&*exit->getFirstInsertionPt()).CreateStore(kept, last_place());
    describe(*next, *next->getNextNode(), false);
  }

  void count_in_memory(llvm::Loop& loop, llvm::BasicBlock* before) {
    llvm::AllocaInst* count = new_place("heddle.loop");
    llvm::IRBuilder<>(before->getTerminator()).CreateStore(llvm::ConstantInt::get(word_, 0), count);
    llvm::IRBuilder<> begin(&*loop.getHeader()->getFirstInsertionPt());
    begin.CreateStore(begin.CreateAdd(begin.CreateLoad(word_, count), llvm::ConstantInt::get(word_, 1)), count);
    describe(*count, *std::next(count->getIterator()), true);
  }

  // Where last counts go, which nobody reads.
  llvm::AllocaInst* last_place() {
    if (last_ == nullptr) last_ = new_place("heddle.loop.last");
    return last_;
  }

  llvm::AllocaInst* new_place(const char* name) {
    return llvm::IRBuilder<>(&function_.getEntryBlock().front()).CreateAlloca(word_, nullptr, name);
  }

  // For debuggers; heddle does not need it.
  void describe(llvm::Instruction& count, llvm::Instruction& at, bool is_place) {
    llvm::DISubprogram* scope = function_.getSubprogram();
    if (scope == nullptr || scope->getUnit()->getEmissionKind() != llvm::DICompileUnit::FullDebug) return;
    llvm::DILocalVariable* variable = builder_.createAutoVariable(
        scope, kVariableName, scope->getFile(), scope->getLine(),
        builder_.createBasicType("unsigned long", 64, llvm::dwarf::DW_ATE_unsigned));
    const llvm::DILocation* where = llvm::DILocation::get(function_.getContext(), 0, 0, scope);
    if (is_place)
      builder_.insertDeclare(&count, variable, builder_.createExpression(), where, &at);
    else
      builder_.insertDbgValueIntrinsic(&count, variable, builder_.createExpression(), where, &at);
  }

  llvm::Function& function_;
  llvm::Type* word_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  llvm::DIBuilder builder_;
  llvm::AllocaInst* last_ = nullptr;
};

}  // namespace

llvm::PreservedAnalyses LoopCountersPass::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  bool changed = false;
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
        !function.hasFnAttribute(llvm::Attribute::Naked))
      changed |= LoopCounters(function).run();
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace heddle
