#include "program/counted_loops.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>
#include <llvm/Support/BranchProbability.h>

#include <algorithm>

namespace heddle {
namespace {

using Probability = llvm::BranchProbability;  // whole numbers, so the same everywhere

constexpr uint64_t equal_weight = 16, unequal_weight = 84;
constexpr uint64_t round_weight = 7, call_weight = 2;

bool compares_flags(const llvm::ICmpInst& compare) {
  const auto* compared = llvm::dyn_cast<llvm::BinaryOperator>(compare.getOperand(0));
  const auto* with = llvm::dyn_cast<llvm::Constant>(compare.getOperand(1));
  return (with != nullptr && with->isNullValue()) ||
         (compared != nullptr && compared->getOpcode() == llvm::Instruction::And);
}

// Of the terminator's successor number `index`, if only the condition is looked at.
uint64_t weight_by_condition(const llvm::Instruction& terminator, unsigned index) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator);
  if (branch == nullptr || !branch->isConditional()) return 1;
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->isEquality() || compares_flags(*compare) ||
      !compare->getOperand(0)->getType()->isIntegerTy())
    return 1;
  const bool if_equal = (index == 0) == (compare->getPredicate() == llvm::CmpInst::ICMP_EQ);
  return if_equal ? equal_weight : unequal_weight;
}

class Finder {
 public:
  Finder(const ControlFlow& flow, llvm::function_ref<bool(uint32_t)> allowed,
         llvm::function_ref<bool(uint32_t)> known)
      : flow_(flow),
        allowed_(allowed),
        known_(known),
        position_(flow.size()),
        owner_(flow.size(), none),
        latches_(flow.size()),
        comes_round_(flow.size()),
        on_way_(flow.size()),
        reached_(flow.size(), Probability::getZero()),
        weight_(flow.size()) {}

  std::vector<CountedLoopBlocks> run();

 private:
  static constexpr uint32_t none = UINT32_MAX;

  bool collect(uint32_t header);
  void find_what_comes_round(uint32_t header);
  std::optional<CountedLoopBlocks> likely_way(uint32_t header);
  void weigh_successors(uint32_t b);
  bool goes_on_to(uint32_t header, uint32_t s) const {
    return owner_[s] == header && (s == header || comes_round_[s]);
  }

  const ControlFlow& flow_;
  llvm::function_ref<bool(uint32_t)> allowed_, known_;
  std::vector<uint32_t> position_;              // by block: in the topological order
  std::vector<uint32_t> owner_;                 // by block: header of the loop it was seen in
  std::vector<std::vector<uint32_t>> latches_;  // by header
  std::vector<uint32_t> blocks_;                // of the loop looked at, in topological order
  // By block, of the loop looked at:
  std::vector<bool> comes_round_, on_way_;
  std::vector<Probability> reached_;  // on the way, in a round
  std::vector<uint64_t> weight_;      // of the successors of the block looked at
};

// An inner loop's header comes later in the order than that of a loop around it, so inner loops are looked at
// first. Natural loops with different headers are disjoint or nested: a block that has an owner already shows
// that there is an inner loop. So each block is seen in one loop only.
std::vector<CountedLoopBlocks> Finder::run() {
  const std::vector<uint32_t>& order = flow_.topological_order();
  for (uint32_t i = 0; i < order.size(); ++i) {
    position_[order[i]] = i;
    for (uint32_t to : flow_.successors(order[i])) {
      if (flow_.retreating(order[i], to)) latches_[to].push_back(order[i]);
    }
  }
  std::vector<CountedLoopBlocks> loops;
  for (auto header = order.rbegin(); header != order.rend(); ++header) {
    if (latches_[*header].empty() || !collect(*header)) continue;
    find_what_comes_round(*header);
    if (auto loop = likely_way(*header)) loops.push_back(std::move(*loop));
  }
  std::sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) { return a.header < b.header; });
  return loops;
}

// Backwards from the latches. False if this is no natural loop or has an inner one.
bool Finder::collect(uint32_t header) {
  const std::vector<uint32_t>& latches = latches_[header];
  auto enters_elsewhere = [&](uint32_t latch) { return !flow_.dominates(header, latch); };
  if (std::any_of(latches.begin(), latches.end(), enters_elsewhere)) return false;
  owner_[header] = header;
  blocks_ = {header};
  std::vector<uint32_t> pending = latches;
  while (!pending.empty()) {
    uint32_t b = pending.back();
    pending.pop_back();
    if (owner_[b] == header) continue;
    if (owner_[b] != none || !latches_[b].empty()) return false;
    owner_[b] = header;
    blocks_.push_back(b);
    for (uint32_t p : flow_.predecessors(b)) {
      if (flow_.reachable(p)) pending.push_back(p);
    }
  }
  std::sort(blocks_.begin(), blocks_.end(),
            [this](uint32_t a, uint32_t b) { return position_[a] < position_[b]; });
  return true;
}

void Finder::find_what_comes_round(uint32_t header) {
  for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b) {
    const std::vector<uint32_t>& successors = flow_.successors(*b);
    comes_round_[*b] = allowed_(*b) && std::any_of(successors.begin(), successors.end(),
                                                   [&](uint32_t s) { return goes_on_to(header, s); });
  }
}

// None if it is not worth counting.
std::optional<CountedLoopBlocks> Finder::likely_way(uint32_t header) {
  if (!comes_round_[header]) return std::nullopt;
  CountedLoopBlocks loop{.header = header, .members = {}};
  bool undecided = false;
  Probability round = Probability::getZero();
  on_way_[header] = true;
  reached_[header] = Probability::getOne();
  for (uint32_t b : blocks_) {
    if (!on_way_[b]) continue;
    weigh_successors(b);
    uint64_t all = 0;
    std::optional<uint32_t> likely;
    for (uint32_t s : flow_.successors(b)) {
      if (owner_[s] != header) continue;
      all += weight_[s];
      if (goes_on_to(header, s) && (!likely || weight_[s] > weight_[*likely])) likely = s;
    }
    for (uint32_t s : flow_.successors(b)) {
      if (!goes_on_to(header, s) || (!known_(b) && s != likely)) continue;
      Probability taken = reached_[b] * Probability::getBranchProbability(weight_[s], all);
      if (s == header) {
        round += taken;
      } else {
        on_way_[s] = true;
        reached_[s] += taken;
      }
    }
    undecided |= !known_(b) && flow_.successors(b).size() > 1;
    loop.members.push_back({b, known_(b) ? std::nullopt : likely});
  }
  if (!undecided || round < Probability(3, 4)) return std::nullopt;
  std::sort(loop.members.begin(), loop.members.end(),
            [](const auto& a, const auto& b) { return a.block < b.block; });
  return loop;
}

void Finder::weigh_successors(uint32_t b) {
  const llvm::Instruction& terminator = *flow_.block(b)->getTerminator();
  llvm::SmallVector<uint32_t> measured;
  const bool is_measured =
      llvm::extractBranchWeights(terminator, measured) && measured.size() == terminator.getNumSuccessors();
  for (uint32_t s : flow_.successors(b)) weight_[s] = 0;
  for (unsigned i = 0; i < terminator.getNumSuccessors(); ++i) {
    uint64_t& weight = weight_[flow_.number(terminator.getSuccessor(i))];
    weight += is_measured ? uint64_t{measured[i]} + 1 : weight_by_condition(terminator, i);
  }
  if (is_measured) return;
  for (uint32_t s : flow_.successors(b)) weight_[s] *= comes_round_[s] ? round_weight : call_weight;
}

}  // namespace

std::vector<CountedLoopBlocks> find_counted_loops(const ControlFlow& flow,
                                                  llvm::function_ref<bool(uint32_t)> allowed,
                                                  llvm::function_ref<bool(uint32_t)> known) {
  return Finder(flow, allowed, known).run();
}

}  // namespace heddle
