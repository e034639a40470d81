#include "program/counting_variables.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

namespace heddle {
namespace {

constexpr unsigned kLeastBits = 32;

bool has_bits(const llvm::Type& type) {
  return type.isIntegerTy() && type.getIntegerBitWidth() >= kLeastBits && type.getIntegerBitWidth() <= 64;
}

const llvm::ConstantInt* constant(const llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

// Without hints about what to expect.
const llvm::Value* bare(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::expect ? call->getArgOperand(0) : value;
}

// `value` is `of` plus a constant that is not zero.
const llvm::ConstantInt* step_from(const llvm::Value* value, const llvm::Value* of) {
  const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (add == nullptr || add->getOpcode() != llvm::Instruction::Add || add->getOperand(0) != of) return nullptr;
  const llvm::ConstantInt* step = constant(add->getOperand(1));
  return step != nullptr && !step->isZero() ? step : nullptr;
}

CountingVariable counting(const llvm::Instruction& variable, const llvm::Type& type,
                          const llvm::ConstantInt& start, const llvm::ConstantInt& step,
                          std::vector<const llvm::Instruction*> next) {
  return {.variable = &variable,
          .next = std::move(next),
          .start = start.getSExtValue(),
          .step = step.getSExtValue(),
          .bits = type.getIntegerBitWidth()};
}

std::optional<CountingVariable> counting_phi(const llvm::PHINode& phi, const llvm::Loop& loop) {
  if (!has_bits(*phi.getType())) return std::nullopt;
  const llvm::ConstantInt* start = nullptr;
  const llvm::ConstantInt* step = nullptr;
  std::vector<const llvm::Instruction*> next;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const bool inside = loop.contains(phi.getIncomingBlock(i));
    const llvm::Value* value = inside ? bare(phi.getIncomingValue(i)) : phi.getIncomingValue(i);
    const llvm::ConstantInt* found = inside ? step_from(value, &phi) : constant(value);
    const llvm::ConstantInt*& known = inside ? step : start;
    if (found == nullptr || (known != nullptr && known != found)) return std::nullopt;
    known = found;
    if (inside) next.push_back(llvm::cast<llvm::Instruction>(value));
  }
  if (start == nullptr || step == nullptr) return std::nullopt;
  return counting(phi, *phi.getType(), *start, *step, std::move(next));
}

// Only loads and stores know of it; the one store inside of the loop happens once in each round, the ones
// outside on every way into it.
std::optional<CountingVariable> counting_memory(const llvm::AllocaInst& place, const llvm::Loop& loop,
                                                const llvm::LoopInfo& loops, const llvm::DominatorTree& tree) {
  if (!has_bits(*place.getAllocatedType()) || place.isArrayAllocation()) return std::nullopt;
  const llvm::ConstantInt* start = nullptr;
  const llvm::ConstantInt* step = nullptr;
  const llvm::StoreInst* again = nullptr;
  for (const llvm::User* user : place.users()) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      if (load->getType() != place.getAllocatedType()) return std::nullopt;
      continue;
    }
    if (llvm::isa<llvm::IntrinsicInst>(user)) continue;
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getPointerOperand() != &place ||
        store->getValueOperand()->getType() != place.getAllocatedType())
      return std::nullopt;
    if (loop.contains(store)) {
      const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(store->getValueOperand());
      const auto* load = add != nullptr ? llvm::dyn_cast<llvm::LoadInst>(add->getOperand(0)) : nullptr;
      if (again != nullptr || load == nullptr || load->getPointerOperand() != &place ||
          load->getParent() != store->getParent())
        return std::nullopt;
      step = step_from(add, load);
      again = store;
    } else {
      if (start != nullptr) return std::nullopt;
      start = constant(store->getValueOperand());
      // Each time that the loop is entered, not once for all times.
      if (start == nullptr || loops.getLoopFor(store->getParent()) != loop.getParentLoop() ||
          !tree.dominates(store->getParent(), loop.getHeader()))
        return std::nullopt;
    }
  }
  if (start == nullptr || step == nullptr || loops.getLoopFor(again->getParent()) != &loop) return std::nullopt;
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getLoopLatches(latches);
  for (const llvm::BasicBlock* latch : latches)
    if (!tree.dominates(again->getParent(), latch)) return std::nullopt;
  return counting(place, *place.getAllocatedType(), *start, *step, {again});
}

int64_t extended(uint64_t value, unsigned bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

std::optional<uint64_t> CountingVariable::rounds_by_next(uint64_t value) const {
  // Modulo the width: a variable that starts near its limit may count over it.
  const int64_t grown = extended(value - static_cast<uint64_t>(start), bits);
  if (grown % step != 0 || grown / step < 1) return std::nullopt;
  return static_cast<uint64_t>(grown / step);
}

std::optional<uint64_t> CountingVariable::rounds(uint64_t value) const {
  return rounds_by_next(value + static_cast<uint64_t>(step));
}

std::vector<CountingVariable> counting_variables(const llvm::Loop& loop, const llvm::LoopInfo& loops,
                                                 const llvm::DominatorTree& tree) {
  std::vector<CountingVariable> out;
  for (const llvm::PHINode& phi : loop.getHeader()->phis())
    if (std::optional<CountingVariable> found = counting_phi(phi, loop)) out.push_back(*std::move(found));
  for (const llvm::Instruction& instruction : loop.getHeader()->getParent()->getEntryBlock())
    if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (std::optional<CountingVariable> found = counting_memory(*place, loop, loops, tree))
        out.push_back(*std::move(found));
  return out;
}

}  // namespace heddle
