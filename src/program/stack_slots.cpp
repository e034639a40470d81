#include "program/stack_slots.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "program/word_operations.h"

namespace heddle {
namespace {

bool is_slot(const llvm::AllocaInst& alloca, const llvm::DataLayout& layout) {
  if (!alloca.isStaticAlloca()) return false;
  const std::optional<llvm::TypeSize> size = alloca.getAllocationSizeInBits(layout);
  if (!size || size->isScalable()) return false;
  std::optional<uint64_t> width;
  for (const llvm::User* user : alloca.users()) {
    const auto* instruction = llvm::cast<llvm::Instruction>(user);
    if (instruction->isLifetimeStartOrEnd()) continue;
    const llvm::Type* type = nullptr;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction); load != nullptr && load->isSimple())
      type = load->getType();
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
        store != nullptr && store->isSimple() && store->getValueOperand() != &alloca)
      type = store->getValueOperand()->getType();
    if (type == nullptr || !is_word(*type, layout)) return false;
    const uint64_t bits = layout.getTypeSizeInBits(const_cast<llvm::Type*>(type)).getFixedValue();
    if (bits > size->getFixedValue() || bits != width.value_or(bits)) return false;
    width = bits;
  }
  return width.has_value();
}

// Definite assignment of up to 64 slots at a time: a bit for each slot, 1 where it is assigned on every way.
class Assignment {
 public:
  static constexpr size_t kSlots = 64;

  explicit Assignment(const std::vector<const llvm::BasicBlock*>& order)
      : order_(order), states_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) numbers_[order[i]] = i;
  }

  void find_loads(llvm::ArrayRef<const llvm::AllocaInst*> slots, std::vector<const llvm::LoadInst*>& assigned) {
    std::fill(states_.begin(), states_.end(), State{});
    states_[0].in = 0;
    std::vector<std::vector<const llvm::Instruction*>> uses;
    for (size_t slot = 0; slot < slots.size(); ++slot) uses.push_back(note_uses(*slots[slot], slot));
    solve();
    for (size_t slot = 0; slot < slots.size(); ++slot) read_loads(uses[slot], slot, assigned);
  }

 private:
  struct State {
    uint64_t in = ~uint64_t{0};
    uint64_t stored = 0, ended = 0;  // what the block does to the slots in the end
  };

  // The uses in reachable blocks, by block and in the order of execution within each.
  std::vector<const llvm::Instruction*> note_uses(const llvm::AllocaInst& slot, size_t index) {
    std::vector<const llvm::Instruction*> uses;
    for (const llvm::User* user : slot.users()) {
      const auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (numbers_.contains(instruction->getParent())) uses.push_back(instruction);
    }
    std::sort(uses.begin(), uses.end(), [&](const llvm::Instruction* a, const llvm::Instruction* b) {
      if (a->getParent() != b->getParent()) return numbers_.at(a->getParent()) < numbers_.at(b->getParent());
      return a != b && a->comesBefore(b);
    });
    const uint64_t bit = uint64_t{1} << index;
    for (const llvm::Instruction* use : uses) {
      State& state = states_[numbers_.at(use->getParent())];
      if (llvm::isa<llvm::LoadInst>(use)) continue;
      const bool stores = llvm::isa<llvm::StoreInst>(use);
      state.stored = stores ? state.stored | bit : state.stored & ~bit;
      state.ended = stores ? state.ended & ~bit : state.ended | bit;
    }
    return uses;
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < order_.size(); ++i) {
        const uint64_t out = (states_[i].in & ~states_[i].ended) | states_[i].stored;
        for (const llvm::BasicBlock* successor : llvm::successors(order_[i])) {
          uint64_t& in = states_[numbers_.at(successor)].in;
          changed |= (in & out) != in;
          in &= out;
        }
      }
    }
  }

  void read_loads(const std::vector<const llvm::Instruction*>& uses, size_t index,
                  std::vector<const llvm::LoadInst*>& assigned) const {
    const llvm::BasicBlock* block = nullptr;
    bool now = false;
    for (const llvm::Instruction* use : uses) {
      if (use->getParent() != block) {
        block = use->getParent();
        now = (states_[numbers_.at(block)].in >> index & 1) != 0;
      }
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(use)) {
        if (now) assigned.push_back(load);
      } else {
        now = llvm::isa<llvm::StoreInst>(use);
      }
    }
  }

  const std::vector<const llvm::BasicBlock*>& order_;
  llvm::DenseMap<const llvm::BasicBlock*, size_t> numbers_;
  std::vector<State> states_;
};

}  // namespace

StackSlots::StackSlots(const llvm::Function& function, const llvm::DataLayout& layout) {
  for (const llvm::Instruction& instruction : function.getEntryBlock())
    if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (is_slot(*alloca, layout)) slots_.push_back(alloca);
  if (slots_.empty()) return;

  const llvm::ReversePostOrderTraversal<const llvm::Function*> traversal(&function);
  const std::vector<const llvm::BasicBlock*> order(traversal.begin(), traversal.end());
  Assignment assignment(order);
  const llvm::ArrayRef<const llvm::AllocaInst*> all(slots_);
  for (size_t first = 0; first < all.size(); first += Assignment::kSlots)
    assignment.find_loads(all.slice(first, std::min(Assignment::kSlots, all.size() - first)), assigned_loads_);
}

}  // namespace heddle
