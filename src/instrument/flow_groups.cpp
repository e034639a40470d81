#include "instrument/flow_groups.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

namespace heddle {
namespace {

constexpr uint64_t kGranule = 8, kMostBytes = 32;
constexpr size_t kMostGranules = 8, kMostMoved = 32;

llvm::Type* accessed_type(const llvm::Instruction& access) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) return store->getValueOperand()->getType();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return exchange->getNewValOperand()->getType();
  return access.getType();
}

const llvm::Value* pointer_of(const llvm::Instruction& access) {
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) return update->getPointerOperand();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return exchange->getPointerOperand();
  return llvm::getLoadStorePointerOperand(&access);
}

uint64_t bytes_of(const llvm::Instruction& access) {
  return access.getModule()->getDataLayout().getTypeStoreSize(accessed_type(access));
}

llvm::Align align_of(const llvm::Instruction& access) {
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) return update->getAlign();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) return exchange->getAlign();
  return llvm::getLoadStoreAlignment(const_cast<llvm::Instruction*>(&access));
}

bool is_apart(const llvm::Instruction& access) {
  return access.isAtomic() || access.isVolatile();
}

// Arithmetic that may be done earlier.
bool is_movable(const llvm::Instruction& instruction) {
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
    return !operation->isIntDivRem();
  return llvm::isa<llvm::GetElementPtrInst, llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(instruction);
}

// Where granules begin, seen from a pointer.
struct Origin {
  llvm::Value* base;
  int64_t offset;                 // from the base to the pointer
  std::optional<uint64_t> phase;  // of the base: its address modulo 8
};

Origin origin_of(const Touched& one, const llvm::DataLayout& layout) {
  Origin out{};
  out.base = llvm::GetPointerBaseWithConstantOffset(one.pointer, out.offset, layout);
  if (out.base->getPointerAlignment(layout).value() >= kGranule)
    out.phase = 0;
  else if (one.align >= kGranule)
    out.phase = static_cast<uint64_t>(-out.offset) % kGranule;
  return out;
}

void add_granule(FlowGranules& granules, const FlowGranule& more) {
  for (FlowGranule& one : granules)
    if (one.pointer == more.pointer && one.offset == more.offset && one.aligned == more.aligned) {
      one.writes = one.writes || more.writes;
      return;
    }
  granules.push_back(more);
}

// Nothing is known of where it begins: bytes that between them lie in all granules that are touched.
void add_unaligned(FlowGranules& granules, const Touched& one) {
  for (uint64_t at = 0; at < one.size; at += kGranule)
    add_granule(granules, {one.pointer, static_cast<int64_t>(at), false, one.writes});
  const bool within = one.size <= one.align && llvm::isPowerOf2_64(one.size);
  if (!within && one.size > 1 && (one.size - 1) % kGranule != 0)
    add_granule(granules, {one.pointer, static_cast<int64_t>(one.size - 1), false, one.writes});
}

}  // namespace

unsigned small_size(const llvm::Instruction& access) {
  if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(access)) return 0;
  const llvm::Type* type = accessed_type(access);
  const uint64_t size = bytes_of(access);
  if (!type->isIntegerTy() && !type->isPointerTy() && !type->isFloatTy() && !type->isDoubleTy()) return 0;
  if (size > kGranule || !llvm::isPowerOf2_64(size) || align_of(access).value() < size) return 0;
  if (type->isIntegerTy() && type->getIntegerBitWidth() != size * 8 && type->getIntegerBitWidth() != 1)
    return 0;
  return static_cast<unsigned>(size);
}

bool is_inline_access(const llvm::Instruction& access) {
  if (const auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&access)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(copy);
    return length != nullptr && !length->isZero() && length->getValue().ule(kMostBytes) &&
           copy->getDestAddressSpace() == 0 && (transfer == nullptr || transfer->getSourceAddressSpace() == 0);
  }
  if (!llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(access))
    return false;
  if (pointer_of(access)->getType()->getPointerAddressSpace() != 0) return false;
  const llvm::TypeSize size = access.getModule()->getDataLayout().getTypeStoreSize(accessed_type(access));
  return !size.isScalable() && size.getFixedValue() != 0 && size.getFixedValue() <= kMostBytes &&
         !llvm::isa<llvm::StructType, llvm::ArrayType>(accessed_type(access));
}

llvm::SmallVector<Touched, 2> touched_by(llvm::Instruction& access, llvm::ArrayRef<HookedAccess> hooked) {
  auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&access);
  if (copy == nullptr)
    return {{const_cast<llvm::Value*>(pointer_of(access)), bytes_of(access), align_of(access).value(),
             !llvm::isa<llvm::LoadInst>(access)}};
  llvm::SmallVector<Touched, 2> out;
  const uint64_t size = llvm::cast<llvm::ConstantInt>(copy->getLength())->getZExtValue();
  for (const HookedAccess& one : hooked) {
    if (one.access.kind != AccessKind::read) {
      out.insert(out.begin(), {copy->getRawDest(), size, copy->getDestAlign().valueOrOne().value(), true});
    } else {
      auto* transfer = llvm::cast<llvm::MemTransferInst>(copy);
      out.push_back({transfer->getRawSource(), size, transfer->getSourceAlign().valueOrOne().value(), false});
    }
  }
  return out;
}

FlowGranules granules_of(llvm::ArrayRef<Touched> touched, const llvm::DataLayout& layout) {
  llvm::SmallVector<Origin, 4> origins;
  for (const Touched& one : touched) origins.push_back(origin_of(one, layout));
  FlowGranules granules;
  for (size_t i = 0; i < touched.size(); ++i) {
    const Touched& one = touched[i];
    std::optional<uint64_t> phase;
    for (const Origin& other : origins)  // another access may know more of the same base
      if (other.base == origins[i].base && other.phase) phase = other.phase;
    if (!phase) {
      add_unaligned(granules, one);
      continue;
    }
    const int64_t begin = origins[i].offset, end = begin + static_cast<int64_t>(one.size);
    const auto first = begin - static_cast<int64_t>((*phase + static_cast<uint64_t>(begin)) % kGranule);
    for (int64_t at = first; at < end; at += kGranule)
      add_granule(granules, {origins[i].base, at, true, one.writes});
  }
  return granules;
}

static FlowGranules granules_of(const FlowAccess& access) {
  return granules_of(touched_by(*access.instruction, access.hooked), access.instruction->getDataLayout());
}

bool FlowGroupBuilder::is_known(llvm::Value* value, llvm::SmallVectorImpl<llvm::Instruction*>& moved) const {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !inside_.contains(instruction) || llvm::is_contained(moved, instruction))
    return true;
  if (!is_movable(*instruction)) return false;
  for (llvm::Value* operand : instruction->operands())
    if (!is_known(operand, moved)) return false;
  moved.push_back(instruction);
  return moved.size() <= kMostMoved;
}

bool FlowGroupBuilder::fits(const FlowAccess& access) {
  if (is_empty()) return true;
  if (is_apart(*access.instruction) || is_apart(*group_.accesses.front().instruction)) return false;
  if (granules_ + granules_of(access).size() > kMostGranules) return false;
  llvm::SmallVector<llvm::Instruction*, 8> moved;
  for (const Touched& one : touched_by(*access.instruction, access.hooked))
    if (!is_known(one.pointer, moved)) return false;
  for (llvm::Instruction* instruction : moved) {
    instruction->moveBefore(group_.accesses.front().instruction);
    inside_.erase(instruction);
  }
  return true;
}

void FlowGroupBuilder::add(const FlowAccess& access) {
  granules_ += granules_of(access).size();
  group_.accesses.push_back(access);
}

void FlowGroupBuilder::pass(llvm::Instruction& instruction) {
  if (!is_empty()) inside_.insert(&instruction);
}

FlowGroup FlowGroupBuilder::take() {
  inside_.clear();
  granules_ = 0;
  return std::exchange(group_, {});
}

}  // namespace heddle
