#include "instrument/word_registers.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace heddle {
namespace {

// The edges of these carry no code.
bool enters_without_place(const llvm::BasicBlock& header) {
  return llvm::any_of(llvm::predecessors(&header), [](const llvm::BasicBlock* from) {
    return llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(from->getTerminator());
  });
}

}  // namespace

WordRegisters::WordRegisters(const RecordHooks& hooks, llvm::Function& function, AskBlock writes,
                             AskBlock others_write)
    : hooks_(hooks), function_(function) {
  const llvm::DominatorTree tree(function);
  const llvm::LoopInfo loops(tree);
  llvm::SmallVector<const llvm::Loop*> open(loops.begin(), loops.end());
  while (!open.empty()) {
    const llvm::Loop* loop = open.pop_back_val();
    const auto ask = [&](AskBlock question) {
      return llvm::any_of(loop->blocks(), [&](const llvm::BasicBlock* block) { return question(*block); });
    };
    if (ask(others_write) || loop->getHeader()->isEHPad() || enters_without_place(*loop->getHeader())) {
      open.append(loop->begin(), loop->end());
    } else if (ask(writes)) {
      headers_.push_back(loop->getHeader());
      blocks_.insert(loop->block_begin(), loop->block_end());
    }
  }
  if (headers_.empty()) return;
  llvm::IRBuilder<> builder(&*function_.getEntryBlock().begin());
  word_ = {.at = builder.CreateAlloca(builder.getPtrTy()), .word = builder.CreateAlloca(builder.getInt64Ty())};
}

const PathWord* WordRegisters::of(const llvm::BasicBlock& block) const {
  return blocks_.contains(&block) ? &word_ : nullptr;
}

// An edge that comes from what the header dominates is the loop's own.
void WordRegisters::finish() {
  if (headers_.empty()) return;
  llvm::DominatorTree tree(function_);
  for (llvm::BasicBlock* header : headers_) {
    llvm::SmallSetVector<llvm::BasicBlock*, 4> entering;
    for (llvm::BasicBlock* from : llvm::predecessors(header))
      if (tree.isReachableFromEntry(from) && !tree.dominates(header, from)) entering.insert(from);
    for (llvm::BasicBlock* from : entering) {
      llvm::Instruction* place = from->getTerminator();
      if (place->getNumSuccessors() > 1) place = llvm::SplitEdge(from, header, &tree)->getTerminator();
      LogEmitter(hooks_, *place, &word_).load_word();
    }
  }
  llvm::PromoteMemToReg({word_.at, word_.word}, tree);
}

}  // namespace heddle
