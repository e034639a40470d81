#include "program/counted_loops.h"

#include <algorithm>

namespace heddle {
namespace {

class Finder {
 public:
  Finder(const ControlFlow& flow, llvm::function_ref<bool(uint32_t)> allowed,
         llvm::function_ref<bool(uint32_t)> known)
      : flow_(flow), allowed_(allowed), known_(known), owner_(flow.size(), none), latches_(flow.size()) {}

  std::vector<CountedLoopBlocks> run();

 private:
  static constexpr uint32_t none = UINT32_MAX;

  bool collect(uint32_t header);
  bool only_rounds_are_undecided(uint32_t header) const;

  const ControlFlow& flow_;
  llvm::function_ref<bool(uint32_t)> allowed_, known_;
  std::vector<uint32_t> owner_;                 // by block: header of the loop it was seen in
  std::vector<std::vector<uint32_t>> latches_;  // by header
  std::vector<uint32_t> blocks_;                // of the loop looked at
};

// An inner loop's header comes later in the order than that of a loop around it, so inner loops are looked at
// first. Natural loops with different headers are disjoint or nested: a block that has an owner already shows
// that there is an inner loop. So each block is seen in one loop only, and all loops together take linear time.
std::vector<CountedLoopBlocks> Finder::run() {
  for (uint32_t from : flow_.topological_order()) {
    for (uint32_t to : flow_.successors(from)) {
      if (flow_.retreating(from, to)) latches_[to].push_back(from);
    }
  }
  std::vector<CountedLoopBlocks> loops;
  const std::vector<uint32_t>& order = flow_.topological_order();
  for (auto header = order.rbegin(); header != order.rend(); ++header) {
    if (latches_[*header].empty() || !collect(*header) || !only_rounds_are_undecided(*header)) continue;
    std::sort(blocks_.begin(), blocks_.end());
    std::sort(latches_[*header].begin(), latches_[*header].end());
    loops.push_back({*header, blocks_, latches_[*header]});
  }
  std::sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) { return a.header < b.header; });
  return loops;
}

// Backwards from the latches. False if this is no natural loop, has an inner one or a block that is not
// allowed.
bool Finder::collect(uint32_t header) {
  const std::vector<uint32_t>& latches = latches_[header];
  auto enters_elsewhere = [&](uint32_t latch) { return !flow_.dominates(header, latch); };
  if (std::any_of(latches.begin(), latches.end(), enters_elsewhere) || !allowed_(header)) return false;
  owner_[header] = header;
  blocks_ = {header};
  std::vector<uint32_t> pending = latches;
  while (!pending.empty()) {
    uint32_t b = pending.back();
    pending.pop_back();
    if (owner_[b] == header) continue;
    if (owner_[b] != none || !latches_[b].empty() || !allowed_(b)) return false;
    owner_[b] = header;
    blocks_.push_back(b);
    for (uint32_t p : flow_.predecessors(b)) {
      if (flow_.reachable(p)) pending.push_back(p);
    }
  }
  return true;
}

bool Finder::only_rounds_are_undecided(uint32_t header) const {
  bool has_unknown_exit = false;
  for (uint32_t b : blocks_) {
    if (known_(b)) continue;
    const std::vector<uint32_t>& successors = flow_.successors(b);
    auto inside =
        std::count_if(successors.begin(), successors.end(), [&](uint32_t s) { return owner_[s] == header; });
    if (inside != 1) return false;
    has_unknown_exit |= successors.size() > 1;
  }
  return has_unknown_exit;
}

}  // namespace

std::vector<CountedLoopBlocks> find_counted_loops(const ControlFlow& flow,
                                                  llvm::function_ref<bool(uint32_t)> allowed,
                                                  llvm::function_ref<bool(uint32_t)> known) {
  return Finder(flow, allowed, known).run();
}

}  // namespace heddle
