// The control-flow graph of one function by block numbers: dominance, post-dominance, control dependence,
// retreating edges. Block numbers are positions in the function (0 is the entry).
//
// Blocks that the entry cannot reach keep their number, successors and predecessors, and nothing else: they
// dominate and post-dominate only themselves, nothing else (post-)dominates them, they control nothing and are
// controlled by nothing, and they are in no order. A declaration gives an empty graph.
//
// The function must outlive this object and keep its blocks and terminators.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heddle {

class ControlFlow {
 public:
  explicit ControlFlow(const llvm::Function& function);

  size_t size() const { return blocks_.size(); }
  const llvm::BasicBlock* block(uint32_t number) const { return blocks_[number]; }
  uint32_t number(const llvm::BasicBlock* block) const;               // the block must be of this function
  std::optional<uint32_t> find(const llvm::BasicBlock* block) const;  // none if it was added later

  // Without repetitions (a switch may name a block several times), in the order of the terminator's operands.
  const std::vector<uint32_t>& successors(uint32_t b) const { return successors_[b]; }
  const std::vector<uint32_t>& predecessors(uint32_t b) const { return predecessors_[b]; }
  bool reachable(uint32_t b) const { return rank_[b] != unranked; }

  bool dominates(uint32_t a, uint32_t b) const;       // reflexive
  bool post_dominates(uint32_t a, uint32_t b) const;  // reflexive; endless loops leave through a virtual exit
  // -1 when there is none (entry; blocks that only the virtual exit post-dominates; unreachable blocks).
  int32_t immediate_dominator(uint32_t b) const { return idom_[b]; }
  int32_t immediate_post_dominator(uint32_t b) const { return ipdom_[b]; }

  // The reachable blocks with an edge to the virtual exit, ascending: those without successors, and one block
  // (LLVM's choice) of each set of endless loops that cannot be left.
  const std::vector<uint32_t>& exits() const { return exits_; }

  // The branches (block, successor) that decide whether `b` runs (Ferrante, Ottenstein, Warren 1987), sorted:
  // `b` post-dominates the successor but not, strictly, the block. Blocks with one successor decide nothing.
  // All answers together can be quadratic in the size of the function, so they are computed when asked for, in
  // O(answer * log(size)).
  std::vector<std::pair<uint32_t, uint32_t>> controlled_by(uint32_t b) const;

  // Of an edge: does it close a cycle in a depth-first search from the entry in successor order? In reducible
  // graphs these are the back edges. Removing them leaves no cycle. False for edges out of unreachable blocks.
  bool retreating(uint32_t from, uint32_t to) const { return reachable(from) && rank_[to] <= rank_[from]; }
  // Reachable blocks, each before its successors except along retreating edges.
  const std::vector<uint32_t>& topological_order() const { return order_; }

 private:
  using Interval = std::pair<uint32_t, uint32_t>;  // first and last visit in a walk over a tree
  // A branch controls the blocks from its successor up the post-dominator tree, below the parent of the
  // branching block.
  struct Decision {
    uint32_t position;   // first visit of the successor in the post-dominator tree
    uint32_t top_level;  // tree level of the first block above the controlled ones
    uint32_t from, to;
  };
  static constexpr uint32_t unranked = UINT32_MAX;

  void link_blocks();
  void search_from_entry();
  template <class Tree>
  void read_tree(const Tree& tree, std::vector<int32_t>& parent, std::vector<Interval>& intervals) const;
  void read_post_dominators(llvm::Function& function);
  void index_decisions();

  std::vector<const llvm::BasicBlock*> blocks_;
  llvm::DenseMap<const llvm::BasicBlock*, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> successors_, predecessors_;
  std::vector<uint32_t> order_, rank_;  // rank_: position in order_
  std::vector<int32_t> idom_, ipdom_;
  std::vector<Interval> dom_interval_, pdom_interval_;  // O(1) queries
  std::vector<uint32_t> pdom_level_;                    // 1 below the virtual exit; 0 for unreachable blocks
  std::vector<uint32_t> exits_;
  std::vector<Decision> decisions_;  // by position
  std::vector<uint32_t>
      least_level_;  // binary tree over decisions_: node n has children 2n and 2n+1, root is 1
};

}  // namespace heddle
