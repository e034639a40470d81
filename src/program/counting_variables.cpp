#include "program/counting_variables.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace heddle {
namespace {

constexpr unsigned kLeastBits = 32;

bool has_bits(const llvm::Type& type) {
  return type.isIntegerTy() && type.getIntegerBitWidth() >= kLeastBits && type.getIntegerBitWidth() <= 64;
}

const llvm::ConstantInt* constant(const llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

const llvm::Value* bare(const llvm::Value* value) {
  return is_hint(*value) ? llvm::cast<llvm::CallBase>(value)->getArgOperand(0) : value;
}

// A value as another one plus a constant.
struct Sum {
  const llvm::Value* value = nullptr;  // null: the constant alone
  int64_t constant = 0;
};

// One step of it: a number plus a constant, an element of an array by a constant.
std::optional<Sum> sum_of(const llvm::Value& value) {
  if (const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(&value)) {
    const llvm::ConstantInt* by = constant(add->getOperand(1));
    if (add->getOpcode() != llvm::Instruction::Add || by == nullptr) return std::nullopt;
    return Sum{add->getOperand(0), by->getSExtValue()};
  }
  const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&value);
  if (element == nullptr || element->getType()->isVectorTy()) return std::nullopt;
  const llvm::DataLayout& layout = element->getModule()->getDataLayout();
  llvm::APInt by(layout.getIndexTypeSizeInBits(element->getType()), 0);
  if (!element->accumulateConstantOffset(layout, by)) return std::nullopt;
  return Sum{element->getPointerOperand(), by.getSExtValue()};
}

// What a variable begins with. Constants and what never changes apart from them (addresses of globals) are of
// no use: nobody can tell where these are from the frame.
std::optional<Sum> beginning(const llvm::Value& value) {
  if (const llvm::ConstantInt* number = constant(&value)) return Sum{nullptr, number->getSExtValue()};
  Sum out{&value, 0};
  while (const std::optional<Sum> sum = sum_of(*out.value))
    out = {sum->value,
           static_cast<int64_t>(static_cast<uint64_t>(out.constant) + static_cast<uint64_t>(sum->constant))};
  if (!llvm::isa<llvm::Argument, llvm::Instruction>(out.value)) return std::nullopt;
  return out;
}

// `value` is `of` plus a constant that is not zero.
std::optional<int64_t> step_from(const llvm::Value& value, const llvm::Value& of) {
  const std::optional<Sum> sum = sum_of(value);
  return sum && sum->value == &of && sum->constant != 0 ? std::optional(sum->constant) : std::nullopt;
}

unsigned bits_of(const llvm::Type& type) {
  return type.isPointerTy() ? 64 : type.getIntegerBitWidth();
}

std::optional<CountingVariable> counting_phi(const llvm::PHINode& phi, const llvm::Loop& loop) {
  if (!has_bits(*phi.getType()) && !phi.getType()->isPointerTy()) return std::nullopt;
  const llvm::Value* start = nullptr;
  CountingVariable out{.variable = &phi, .bits = bits_of(*phi.getType())};
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const llvm::Value* value = phi.getIncomingValue(i);
    if (!loop.contains(phi.getIncomingBlock(i))) {
      if (start != nullptr && start != value) return std::nullopt;
      start = value;
      continue;
    }
    value = bare(value);
    const std::optional<int64_t> step = step_from(*value, phi);
    if (!step || (out.step != 0 && out.step != *step)) return std::nullopt;
    out.step = *step;
    out.next.push_back(llvm::cast<llvm::Instruction>(value));
  }
  const std::optional<Sum> begin = start != nullptr ? beginning(*start) : std::nullopt;
  if (!begin || out.step == 0) return std::nullopt;
  const auto* computed = llvm::dyn_cast_or_null<llvm::Instruction>(begin->value);
  if (computed != nullptr && loop.contains(computed)) return std::nullopt;  // it changes meanwhile
  out.base = begin->value;
  out.start = begin->constant;
  return out;
}

// Only loads and stores know of it; the one store inside of the loop happens once in each round, the ones
// outside on every way into it.
std::optional<CountingVariable> counting_memory(const llvm::AllocaInst& place, const llvm::Loop& loop,
                                                const llvm::LoopInfo& loops, const llvm::DominatorTree& tree) {
  if (!has_bits(*place.getAllocatedType()) || place.isArrayAllocation()) return std::nullopt;
  const llvm::ConstantInt* start = nullptr;
  std::optional<int64_t> step;
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
      step = step_from(*add, *load);
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
  if (start == nullptr || !step || loops.getLoopFor(again->getParent()) != &loop) return std::nullopt;
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getLoopLatches(latches);
  for (const llvm::BasicBlock* latch : latches)
    if (!tree.dominates(again->getParent(), latch)) return std::nullopt;
  return CountingVariable{.variable = &place,
                          .next = {again},
                          .base = nullptr,
                          .start = start->getSExtValue(),
                          .step = *step,
                          .bits = bits_of(*place.getAllocatedType())};
}

int64_t extended(uint64_t value, unsigned bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

bool is_hint(const llvm::Value& value) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&value);
  return call != nullptr && (call->getIntrinsicID() == llvm::Intrinsic::expect ||
                             call->getIntrinsicID() == llvm::Intrinsic::strip_invariant_group);
}

std::optional<uint64_t> CountingVariable::rounds_by_next(uint64_t value, uint64_t base_value) const {
  // Modulo the width: a variable that starts near its limit may count over it.
  const int64_t grown = extended(value - base_value - static_cast<uint64_t>(start), bits);
  if (grown % step != 0 || grown / step < 1) return std::nullopt;
  return static_cast<uint64_t>(grown / step);
}

std::optional<uint64_t> CountingVariable::rounds(uint64_t value, uint64_t base_value) const {
  return rounds_by_next(value + static_cast<uint64_t>(step), base_value);
}

std::vector<CountingVariable> counting_variables(const llvm::Loop& loop, const llvm::LoopInfo& loops,
                                                 const llvm::DominatorTree& tree) {
  std::vector<CountingVariable> out, by_value;
  for (const llvm::PHINode& phi : loop.getHeader()->phis())
    if (std::optional<CountingVariable> found = counting_phi(phi, loop))
      (found->base == nullptr ? out : by_value).push_back(*std::move(found));
  for (const llvm::Instruction& instruction : loop.getHeader()->getParent()->getEntryBlock())
    if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (std::optional<CountingVariable> found = counting_memory(*place, loop, loops, tree))
        out.push_back(*std::move(found));
  out.insert(out.end(), by_value.begin(), by_value.end());
  return out;
}

}  // namespace heddle
