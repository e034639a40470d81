#include "program/control_flow.h"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/result.h"

namespace heddle {
namespace {

// Is tree node `a` above `b`, or the same?
bool encloses(const std::pair<uint32_t, uint32_t>& a, const std::pair<uint32_t, uint32_t>& b) {
  return a.first <= b.first && b.second <= a.second;
}

}  // namespace

ControlFlow::ControlFlow(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    numbers_.try_emplace(&block, static_cast<uint32_t>(blocks_.size()));
    blocks_.push_back(&block);
  }
  if (blocks_.empty()) return;
  link_blocks();
  search_from_entry();
  // LLVM's trees take a function they could change, but only read it.
  auto& readable = const_cast<llvm::Function&>(function);
  read_tree(llvm::DominatorTree(readable), idom_, dom_interval_);
  read_post_dominators(readable);
  index_decisions();
}

uint32_t ControlFlow::number(const llvm::BasicBlock* block) const {
  auto found = numbers_.find(block);
  HEDDLE_CHECK(found != numbers_.end());
  return found->second;
}

std::optional<uint32_t> ControlFlow::find(const llvm::BasicBlock* block) const {
  auto found = numbers_.find(block);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void ControlFlow::link_blocks() {
  successors_.resize(size());
  predecessors_.resize(size());
  std::vector<uint32_t> last_named_by(size(), unranked);
  for (uint32_t b = 0; b < size(); ++b) {
    for (const llvm::BasicBlock* target : llvm::successors(blocks_[b])) {
      uint32_t s = number(target);
      if (last_named_by[s] == b) continue;
      last_named_by[s] = b;
      successors_[b].push_back(s);
      predecessors_[s].push_back(b);
    }
  }
}

// The order is the reverse of the order in which the search leaves the blocks: a block is left after all its
// successors except those it is still inside of, which are the targets of retreating edges. Hence an edge
// retreats exactly when it does not lead forward in the order. Not recursive: depth is up to the function's
// size.
void ControlFlow::search_from_entry() {
  struct Visit {
    uint32_t block;
    uint32_t next_successor;
  };
  std::vector<bool> seen(size());
  std::vector<Visit> path{{0, 0}};
  seen[0] = true;
  while (!path.empty()) {
    Visit& top = path.back();
    if (top.next_successor == successors_[top.block].size()) {
      order_.push_back(top.block);
      path.pop_back();
      continue;
    }
    uint32_t next = successors_[top.block][top.next_successor++];
    if (seen[next]) continue;
    seen[next] = true;
    path.push_back({next, 0});
  }
  std::reverse(order_.begin(), order_.end());
  rank_.assign(size(), unranked);
  for (uint32_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
}

template <class Tree>
void ControlFlow::read_tree(const Tree& tree, std::vector<int32_t>& parent,
                            std::vector<Interval>& intervals) const {
  tree.updateDFSNumbers();
  parent.assign(size(), -1);
  intervals.resize(size());
  for (uint32_t b : order_) {
    const auto* node = tree.getNode(blocks_[b]);
    HEDDLE_CHECK(node != nullptr);
    intervals[b] = {node->getDFSNumIn(), node->getDFSNumOut()};
    const auto* above = node->getIDom();
    // The virtual exit is a node without a block.
    if (above != nullptr && above->getBlock() != nullptr)
      parent[b] = static_cast<int32_t>(number(above->getBlock()));
  }
}

void ControlFlow::read_post_dominators(llvm::Function& function) {
  llvm::PostDominatorTree tree(function);
  read_tree(tree, ipdom_, pdom_interval_);
  pdom_level_.assign(size(), 0);
  for (uint32_t b : order_) pdom_level_[b] = tree.getNode(blocks_[b])->getLevel();
  for (const llvm::BasicBlock* root : tree.roots()) {
    if (uint32_t b = number(root); reachable(b)) exits_.push_back(b);
  }
  std::sort(exits_.begin(), exits_.end());
}

bool ControlFlow::dominates(uint32_t a, uint32_t b) const {
  if (a == b) return true;
  return reachable(a) && reachable(b) && encloses(dom_interval_[a], dom_interval_[b]);
}

bool ControlFlow::post_dominates(uint32_t a, uint32_t b) const {
  if (a == b) return true;
  return reachable(a) && reachable(b) && encloses(pdom_interval_[a], pdom_interval_[b]);
}

// Writing the answers down, as Ferrante et al. do, takes quadratic memory for a long loop body full of
// `continue`. But a branch controls a path of the post-dominator tree, from its successor upwards, so block b
// is on it exactly when the successor is in b's subtree (a range of positions) and the path's top is above b (a
// smaller level).
void ControlFlow::index_decisions() {
  for (uint32_t from : order_) {
    if (successors_[from].size() < 2) continue;
    for (uint32_t to : successors_[from]) {
      decisions_.push_back({pdom_interval_[to].first, pdom_level_[from] - 1, from, to});
    }
  }
  std::sort(decisions_.begin(), decisions_.end(), [](const Decision& a, const Decision& b) {
    return std::tie(a.position, a.from) < std::tie(b.position, b.from);
  });
  size_t leaves = std::bit_ceil(decisions_.size());
  least_level_.assign(2 * leaves, UINT32_MAX);
  for (size_t i = 0; i < decisions_.size(); ++i) least_level_[leaves + i] = decisions_[i].top_level;
  for (size_t n = leaves - 1; n > 0; --n)
    least_level_[n] = std::min(least_level_[2 * n], least_level_[2 * n + 1]);
}

std::vector<std::pair<uint32_t, uint32_t>> ControlFlow::controlled_by(uint32_t b) const {
  std::vector<std::pair<uint32_t, uint32_t>> answer;
  if (!reachable(b)) return answer;
  auto before = [](const Decision& d, uint32_t position) { return d.position < position; };
  auto [enter, leave] = pdom_interval_[b];
  auto first = std::lower_bound(decisions_.begin(), decisions_.end(), enter, before) - decisions_.begin();
  auto last = std::lower_bound(decisions_.begin(), decisions_.end(), leave, before) - decisions_.begin();

  struct Node {
    size_t number, begin, width;  // covers decisions_[begin .. begin + width)
  };
  std::vector<Node> pending{{1, 0, least_level_.size() / 2}};
  while (!pending.empty()) {
    Node node = pending.back();
    pending.pop_back();
    bool outside =
        node.begin >= static_cast<size_t>(last) || node.begin + node.width <= static_cast<size_t>(first);
    if (outside || least_level_[node.number] >= pdom_level_[b]) continue;
    if (node.width == 1) {
      answer.emplace_back(decisions_[node.begin].from, decisions_[node.begin].to);
      continue;
    }
    size_t half = node.width / 2;
    pending.push_back({2 * node.number, node.begin, half});
    pending.push_back({2 * node.number + 1, node.begin + half, half});
  }
  std::sort(answer.begin(), answer.end());
  return answer;
}

}  // namespace heddle
