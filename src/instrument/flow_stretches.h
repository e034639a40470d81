// Where stretches of accesses of variant "flow" begin and end (instrument/flow_accesses.h).
//
// While a stretch is open the thread's status says so, and not how far it is. It begins before an access, and
// ends behind one where no other follows soon: in a loop with accesses in every round it begins and ends
// outside of the loop. Whoever waits for the accesses (runtime/flow/shadow.c) is to wait for a bounded piece of
// code only, up to the next access: no call, no loop without accesses.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>

#include <vector>

namespace heddle {

class FlowStretches {
 public:
  enum class First { nothing, access, call };
  // Blocks, on edges, where stretches begin and end.
  struct Edges {
    std::vector<llvm::BasicBlock*> begins, ends;
  };

  explicit FlowStretches(llvm::Function& function) : function_(function) {}

  // What comes in the block: only the first counts.
  void add(llvm::BasicBlock& block, First first) { first_.try_emplace(&block, first); }

  // When all is added. Whether the stretch that reaches the end of this block need not end there.
  bool leave_open(llvm::BasicBlock& block);

  // When all blocks have been left that can be. Whether a stretch is open, from wherever one comes to the
  // block.
  bool is_open_at(llvm::BasicBlock& block);

  // Makes these blocks. What is_open_at() says is true of the function behind this.
  Edges split();

 private:
  First first_of(const llvm::BasicBlock& block) const { return first_.lookup(&block); }
  void find_bounded();
  bool goes_on(llvm::BasicBlock& block);
  bool may_leave(llvm::BasicBlock& block);
  llvm::BasicBlock* block_between(llvm::BasicBlock* from, llvm::BasicBlock* to);

  llvm::Function& function_;
  llvm::DenseMap<const llvm::BasicBlock*, First> first_;
  bool found_ = false;
  llvm::DenseMap<const llvm::BasicBlock*, bool> bounded_;  // blocks with nothing that lead into no loop of such
  llvm::DenseMap<const llvm::BasicBlock*, bool> goes_on_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> left_;  // blocks that are left with an open stretch
};

}  // namespace heddle
