// Ways through silent blocks, which left no machine code of their own (program_path.h): where a thread can have
// gone between two blocks that its path names.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/BasicBlock.h>

#include <utility>
#include <vector>

namespace heddle {

class SilentWays {
 public:
  using Blocks = std::vector<const llvm::BasicBlock*>;
  // `named`: the blocks that are not silent. Must outlive this.
  explicit SilentWays(const llvm::DenseSet<const llvm::BasicBlock*>& named) : named_(named) {}

  // Successors from which silent blocks lead to the target, the nearest first. Without a target: those from
  // which the function can be left in good order, unless none is. Valid until the next call.
  const Blocks& to(const llvm::BasicBlock& from, const llvm::BasicBlock* target);

 private:
  const llvm::DenseSet<const llvm::BasicBlock*>& named_;
  llvm::DenseMap<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, Blocks> known_;
};

}  // namespace heddle
