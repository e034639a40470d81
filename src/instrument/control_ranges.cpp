#include "instrument/control_ranges.h"

#include <llvm/Analysis/ValueTracking.h>

#include <optional>

#include "abi/hooks.h"
#include "instrument/control_format.h"

namespace heddle {
namespace {

struct Bytes {
  llvm::Value* size = nullptr;
  llvm::Value* limit = nullptr;
};

class RangeEmitter {
 public:
  RangeEmitter(HookEmitter& emit, const llvm::CallBase& call) : emit_(emit), call_(call) {}

  bool add(const ArgumentAccess& access) {
    const std::optional<Bytes> bytes = bytes_of(access);
    if (!bytes) return false;
    llvm::Value* pointer = call_.getArgOperand(access.argument);
    if (access.effect->reads) emit_.range(pointer, bytes->size, bytes->limit, false);
    if (access.effect->writes) emit_.range(pointer, bytes->size, bytes->limit, true);
    return true;
  }

 private:
  Bytes special(uint64_t code, llvm::Value* limit = nullptr) { return {emit_.size(code), limit}; }

  // A string that is only written is not there yet: the runtime must not look for its end.
  Bytes string(const MemoryEffect& effect, uint64_t code, llvm::Value* limit = nullptr) {
    return special(effect.reads ? code : HEDDLE_SIZE_OBJECT, limit);
  }

  // As a number of bytes. An int below zero is an error the function will notice: nothing is touched.
  llvm::Value* argument(int number) {
    llvm::IRBuilder<>& builder = emit_.builder();
    llvm::Value* value = call_.getArgOperand(static_cast<unsigned>(number));
    if (!value->getType()->isIntegerTy()) return emit_.size(HEDDLE_SIZE_OBJECT);
    if (value->getType()->getIntegerBitWidth() >= 64) return builder.CreateTrunc(value, builder.getInt64Ty());
    llvm::Value* wide = builder.CreateSExt(value, builder.getInt64Ty());
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, emit_.size(0));
  }

  std::optional<Bytes> bytes_of(const ArgumentAccess& access) {
    llvm::IRBuilder<>& builder = emit_.builder();
    const MemoryEffect& effect = *access.effect;
    const Extent& extent = effect.extent;
    switch (extent.kind) {
      case Extent::Kind::bytes:
        return Bytes{emit_.size(extent.amount)};
      case Extent::Kind::argument:
        return Bytes{builder.CreateMul(argument(extent.first), emit_.size(extent.amount))};
      case Extent::Kind::product:
        return Bytes{builder.CreateMul(argument(extent.first), argument(extent.second))};
      case Extent::Kind::string:
        return string(effect, HEDDLE_SIZE_STRING);
      case Extent::Kind::bounded_string:
        return string(effect, HEDDLE_SIZE_STRING, argument(extent.first));
      case Extent::Kind::wide_string:
        return string(effect, HEDDLE_SIZE_WIDE_STRING);
      case Extent::Kind::format:
        return format_bytes(access);
      case Extent::Kind::object:
        if (access.foreign) return std::nullopt;
        return special(HEDDLE_SIZE_OBJECT);
      case Extent::Kind::pointee:
      case Extent::Kind::returned:
      case Extent::Kind::iovec:
      case Extent::Kind::reachable:
        return special(HEDDLE_SIZE_OBJECT);
    }
    return std::nullopt;
  }

  std::optional<Bytes> format_bytes(const ArgumentAccess& access) {
    if (access.effect->place.argument != Place::kVariadic) return std::nullopt;  // behind a va_list
    if (!access.effect->reads) return special(HEDDLE_SIZE_OBJECT);               // the results of a scanf
    llvm::StringRef text;
    if (!llvm::getConstantStringInfo(call_.getArgOperand(static_cast<unsigned>(access.effect->extent.first)),
                                     text))
      return std::nullopt;
    const unsigned fixed = call_.getFunctionType()->getNumParams();
    const std::vector<PrintfArgument> arguments = printf_arguments(std::string_view(text.data(), text.size()));
    if (access.argument - fixed >= arguments.size()) return std::nullopt;
    const PrintfArgument& what = arguments[access.argument - fixed];
    llvm::Value* limit = nullptr;
    if (what.precision) limit = emit_.size(*what.precision);
    // A negative precision is as good as none.
    if (what.precision_argument && fixed + *what.precision_argument < call_.arg_size()) {
      llvm::Value* given = call_.getArgOperand(fixed + *what.precision_argument);
      if (given->getType()->isIntegerTy())
        limit = emit_.builder().CreateSExtOrTrunc(given, emit_.builder().getInt64Ty());
    }
    if (what.kind == PrintfArgument::Kind::string) return special(HEDDLE_SIZE_STRING, limit);
    if (what.kind == PrintfArgument::Kind::wide_string) return special(HEDDLE_SIZE_WIDE_STRING, limit);
    return std::nullopt;
  }

  HookEmitter& emit_;
  const llvm::CallBase& call_;
};

}  // namespace

EmittedRanges emit_ranges(HookEmitter& emit, const llvm::CallBase& call,
                          llvm::ArrayRef<ArgumentAccess> arguments) {
  RangeEmitter ranges(emit, call);
  EmittedRanges emitted;
  for (const ArgumentAccess& access : arguments) {
    if (access.effect == nullptr || access.sharing != Sharing::shared) continue;
    (ranges.add(access) ? emitted.any : emitted.left_out) = true;
  }
  return emitted;
}

}  // namespace heddle
