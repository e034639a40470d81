// Where stretches of accesses of variant "flow" end (instrument/flow_accesses.h).
//
// Behind a stretch the status says that its accesses are done. Where the next stretch comes at once, as in most
// loops, it says so itself with its first access: the end is moved to the edges that lead elsewhere. Whoever
// waits for the accesses (runtime/flow/shadow.c) is to wait for a bounded piece of code only: no call, no loop
// without accesses.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Function.h>

#include <vector>

namespace heddle {

class FlowStretchEnds {
 public:
  enum class First { nothing, access, call };

  explicit FlowStretchEnds(llvm::Function& function) : function_(function) {}

  // What comes in the block: only the first counts.
  void add(llvm::BasicBlock& block, First first) { first_.try_emplace(&block, first); }

  // When all is added. Whether the stretch that reaches the end of this block need not end there.
  bool leave_open(llvm::BasicBlock& block);

  // The blocks, on edges, where stretches end that were left open.
  std::vector<llvm::BasicBlock*> split();

 private:
  First first_of(const llvm::BasicBlock& block) const { return first_.lookup(&block); }
  void find_bounded();
  bool goes_on(llvm::BasicBlock& block);
  bool leave(llvm::BasicBlock& block);

  llvm::Function& function_;
  llvm::DenseMap<const llvm::BasicBlock*, First> first_;
  bool found_ = false;
  llvm::DenseMap<const llvm::BasicBlock*, bool> bounded_;  // blocks with nothing that lead into no loop of such
  llvm::DenseMap<const llvm::BasicBlock*, bool> goes_on_;
  llvm::MapVector<llvm::BasicBlock*, bool> left_;  // blocks that are left with an open stretch
};

}  // namespace heddle
