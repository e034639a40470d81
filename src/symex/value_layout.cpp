#include "symex/value_layout.h"

namespace heddle {

FloatFormat float_format(const llvm::Type& type) {
  switch (type.getTypeID()) {
    case llvm::Type::HalfTyID:
      return FloatFormat::half;
    case llvm::Type::BFloatTyID:
      return FloatFormat::bfloat;
    case llvm::Type::FloatTyID:
      return FloatFormat::single;
    case llvm::Type::DoubleTyID:
      return FloatFormat::twice;
    case llvm::Type::X86_FP80TyID:
      return FloatFormat::x87;
    case llvm::Type::FP128TyID:
      return FloatFormat::quad;
    default:
      return FloatFormat::none;
  }
}

const ValueLayout& ValueLayouts::of(llvm::Type* type) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ValueLayout>& known = layouts_[type];
  if (known != nullptr) return *known;
  known = std::make_unique<ValueLayout>();
  if (type->isSized() && !type->isVoidTy()) {
    add(type, 0, *known);
    known->bytes = layout_.getTypeStoreSize(type);
    for (const Leaf& leaf : known->leaves)
      if (leaf.bit_offset % 8 != 0 || (leaf.bits % 8 != 0 && known->leaves.size() > 1))
        known->whole_bytes = false;
  }
  return *known;
}

void ValueLayouts::add(llvm::Type* type, uint64_t bit_offset, ValueLayout& out) {
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    const llvm::StructLayout* members = layout_.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      add(structure->getElementType(i), bit_offset + members->getElementOffsetInBits(i), out);
  } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    const uint64_t stride = layout_.getTypeAllocSizeInBits(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      add(array->getElementType(), bit_offset + i * stride, out);
  } else if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const uint64_t stride = layout_.getTypeSizeInBits(vector->getElementType());
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      add(vector->getElementType(), bit_offset + i * stride, out);
  } else {
    const auto bits = static_cast<uint32_t>(layout_.getTypeSizeInBits(type));
    out.leaves.push_back(
        {.cell = out.cells, .bits = bits, .format = float_format(*type), .bit_offset = bit_offset});
    out.cells += words_of(bits);
  }
}

}  // namespace heddle
