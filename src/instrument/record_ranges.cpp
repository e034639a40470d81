#include "instrument/record_ranges.h"

#include <llvm/IR/Intrinsics.h>

namespace heddle {
namespace {

class RangeWriter {
 public:
  RangeWriter(const RecordHooks& hooks, llvm::IRBuilder<>& builder, llvm::CallBase& call)
      : hooks_(hooks), builder_(builder), call_(call) {}

  void add(const WrittenRange& range) {
    const Extent& extent = range.effect->extent;
    if (extent.kind == Extent::Kind::format) return add_scanned(extent);
    heddle_range_kind how = HEDDLE_RANGE_bytes;
    llvm::Value* size = size_of(extent, how);
    llvm::Value* source = builder_.getInt64(0);
    llvm::Value* offset = builder_.getInt64(static_cast<uint64_t>(-1));
    if (range.source != HEDDLE_SOURCE_unknown) source = as_number(argument(range.source_argument));
    if (range.offset_argument >= 0) offset = as_number(argument(range.offset_argument));
    llvm::Value* source_kind = builder_.getInt32(range.source);
    if (range.source == HEDDLE_SOURCE_stream && extent.kind == Extent::Kind::product)
      shorten(extent, size, source_kind);
    builder_.CreateCall(hooks_.range, {argument(range.effect->place.argument), size, builder_.getInt32(how),
                                       source_kind, source, offset});
  }

 private:
  llvm::Value* argument(int number) { return call_.getArgOperand(static_cast<unsigned>(number)); }

  llvm::Value* as_number(llvm::Value* value) {
    if (value->getType()->isPointerTy()) return builder_.CreatePtrToInt(value, builder_.getInt64Ty());
    if (!value->getType()->isIntegerTy()) return builder_.getInt64(0);
    return builder_.CreateSExtOrTrunc(value, builder_.getInt64Ty());
  }

  // An int below zero is an error the function has noticed: nothing was written.
  llvm::Value* amount(llvm::Value* value) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, as_number(value), builder_.getInt64(0));
  }

  // fread: what it returns is how many objects it has read. Behind them there may be a part of one more; then
  // the stream does not stand where the range ends.
  void shorten(const Extent& extent, llvm::Value*& size, llvm::Value*& source_kind) {
    llvm::Value* one = builder_.getInt64(1);
    llvm::Value* object = amount(argument(extent.first));
    llvm::Value* read = as_number(&call_);
    llvm::Value* missing = builder_.CreateICmpULT(read, amount(argument(extent.second)));
    llvm::Value* in_part = builder_.CreateAnd(missing, builder_.CreateICmpUGT(object, one));
    llvm::Value* objects = builder_.CreateAdd(read, builder_.CreateZExt(in_part, builder_.getInt64Ty()));
    size = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, builder_.CreateMul(object, objects));
    source_kind = builder_.CreateSelect(in_part, builder_.getInt32(HEDDLE_SOURCE_unknown), source_kind);
  }

  llvm::Value* size_of(const Extent& extent, heddle_range_kind& how) {
    switch (extent.kind) {
      case Extent::Kind::bytes:
        return builder_.getInt64(extent.amount);
      case Extent::Kind::argument:
        return builder_.CreateMul(amount(argument(extent.first)), builder_.getInt64(extent.amount));
      case Extent::Kind::product:
        return builder_.CreateMul(amount(argument(extent.first)), amount(argument(extent.second)));
      case Extent::Kind::returned:
        return builder_.CreateMul(amount(&call_), builder_.getInt64(extent.amount));
      case Extent::Kind::pointee:
        how = HEDDLE_RANGE_pointee;
        return as_number(argument(extent.first));
      case Extent::Kind::string:
        how = HEDDLE_RANGE_string;
        return builder_.getInt64(UINT64_MAX);
      case Extent::Kind::bounded_string:
        how = HEDDLE_RANGE_string;
        return amount(argument(extent.first));
      case Extent::Kind::wide_string:
        how = HEDDLE_RANGE_wide_string;
        return builder_.getInt64(UINT64_MAX);
      case Extent::Kind::iovec:
        how = HEDDLE_RANGE_iovec;
        return builder_.CreateOr(builder_.CreateShl(amount(argument(extent.first)), 48), amount(&call_));
      case Extent::Kind::format:
      case Extent::Kind::object:
      case Extent::Kind::reachable:
        break;  // not in plans
    }
    HEDDLE_CHECK(false);
    return nullptr;
  }

  void add_scanned(const Extent& extent) {
    const unsigned fixed = call_.getFunctionType()->getNumParams();
    const unsigned count = static_cast<unsigned>(call_.arg_size()) - fixed;
    llvm::Type* array = llvm::ArrayType::get(builder_.getPtrTy(), count);
    llvm::BasicBlock& entry = call_.getFunction()->getEntryBlock();
    llvm::Value* pointers = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(array);
    for (unsigned i = 0; i < count; ++i) {
      llvm::Value* pointer = call_.getArgOperand(fixed + i);
      if (!pointer->getType()->isPointerTy()) pointer = llvm::ConstantPointerNull::get(builder_.getPtrTy());
      builder_.CreateStore(pointer, builder_.CreateConstInBoundsGEP2_32(array, pointers, 0, i));
    }
    builder_.CreateCall(hooks_.scanned,
                        {argument(extent.first), builder_.getInt32(count), pointers, as_number(&call_)});
  }

  const RecordHooks& hooks_;
  llvm::IRBuilder<>& builder_;
  llvm::CallBase& call_;
};

}  // namespace

void emit_written_range(const RecordHooks& hooks, llvm::IRBuilder<>& builder, llvm::CallBase& call,
                        const WrittenRange& range) {
  RangeWriter(hooks, builder, call).add(range);
}

}  // namespace heddle
