#include "instrument/control_accesses.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace heddle {
namespace {

// Copies between shared memory up to this size are two events, longer ones and those of unknown length one.
constexpr uint64_t kBufferSize = 256;
constexpr uint64_t kBufferAlignment = 16;

void drop_alias_marks(llvm::Instruction& access) {
  for (const unsigned kind :
       {llvm::LLVMContext::MD_tbaa, llvm::LLVMContext::MD_tbaa_struct, llvm::LLVMContext::MD_alias_scope,
        llvm::LLVMContext::MD_noalias, llvm::LLVMContext::MD_invariant_group})
    access.setMetadata(kind, nullptr);
}

bool is_hookable(const Access& access) {
  return access.pointer->getType()->getScalarType()->getPointerAddressSpace() == 0;
}

const Access* find(llvm::ArrayRef<Access> accesses, AccessKind kind) {
  const auto found = std::ranges::find(accesses, kind, &Access::kind);
  return found == accesses.end() ? nullptr : &*found;
}

llvm::Value* pointer_of(const Access& access) {
  return const_cast<llvm::Value*>(access.pointer);
}

// Memory that an access in place touches: where it begins and how many bytes.
struct Span {
  llvm::Value* pointer;
  llvm::Value* size;
};

// From the first to the last lane that the mask lets through. The others are not accessed, and need not even
// exist: their memory may have been freed.
Span active_span(HookEmitter& emit, llvm::Value* pointer, llvm::Value* mask, uint64_t element, uint64_t whole) {
  llvm::IRBuilder<>& builder = emit.builder();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  if (lanes > 64) return {pointer, emit.size(whole)};
  llvm::Value* bits =
      builder.CreateZExt(builder.CreateBitCast(mask, builder.getIntNTy(lanes)), builder.getInt64Ty());
  llvm::Value* first = builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder.getFalse());
  llvm::Value* after = builder.CreateSub(
      builder.getInt64(64), builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, builder.getFalse()));
  llvm::Value* none = builder.CreateICmpEQ(bits, builder.getInt64(0));
  llvm::Value* count = builder.CreateSelect(none, builder.getInt64(0), builder.CreateSub(after, first));
  llvm::Value* begin = builder.CreateSelect(none, builder.getInt64(0), first);
  llvm::Value* bytes = builder.getInt64(element);
  return {builder.CreatePtrAdd(pointer, builder.CreateMul(begin, bytes)), builder.CreateMul(count, bytes)};
}

Span packed_span(HookEmitter& emit, llvm::Value* pointer, llvm::Value* mask, uint64_t element, uint64_t whole) {
  llvm::IRBuilder<>& builder = emit.builder();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  if (lanes > 64) return {pointer, emit.size(whole)};
  llvm::Value* bits =
      builder.CreateZExt(builder.CreateBitCast(mask, builder.getIntNTy(lanes)), builder.getInt64Ty());
  llvm::Value* count = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
  return {pointer, builder.CreateMul(count, builder.getInt64(element))};
}

// What processor-specific intrinsics touch, from their types; what only their names say is listed.
uint64_t target_specific_size(const llvm::IntrinsicInst& call) {
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  const llvm::StringRef name = call.getCalledFunction()->getName();
  if (name.contains("save") || name.contains("rstor")) return 512;
  if (name.contains("dir64b") || name.contains("enqcmd")) return 64;
  uint64_t size = 4;
  const auto consider = [&](llvm::Type* type) {
    if (type->isVoidTy() || type->isPtrOrPtrVectorTy() || !type->isSized()) return;
    const bool apart = name.contains("gather") || name.contains("scatter");  // the base stands for all lanes
    size = std::max<uint64_t>(size, layout.getTypeStoreSize(apart ? type->getScalarType() : type));
  };
  consider(call.getType());
  for (const llvm::Use& argument : call.args())
    if (argument->getType()->isVectorTy()) consider(argument->getType());
  return size;
}

struct Masked {
  llvm::Value* mask;
  llvm::Type* data;
};
Masked masked_parts(const llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
      return {call.getArgOperand(2), call.getType()};
    case llvm::Intrinsic::masked_expandload:
      return {call.getArgOperand(1), call.getType()};
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
      return {call.getArgOperand(3), call.getArgOperand(0)->getType()};
    case llvm::Intrinsic::masked_compressstore:
      return {call.getArgOperand(2), call.getArgOperand(0)->getType()};
    default:
      return {nullptr, nullptr};
  }
}

// avx.maskload(pointer, mask), avx.maskstore(pointer, mask, data): lanes whose sign bit is set.
bool is_sign_masked(const llvm::IntrinsicInst& call) {
  const llvm::StringRef name = call.getCalledFunction()->getName();
  return (name.contains(".maskload.") || name.contains(".maskstore.")) &&
         llvm::isa<llvm::FixedVectorType>(call.getArgOperand(1)->getType());
}

void append_spans(HookEmitter& emit, const llvm::IntrinsicInst& call, const Access& access,
                  llvm::SmallVectorImpl<Span>& out) {
  llvm::IRBuilder<>& builder = emit.builder();
  llvm::Value* pointer = pointer_of(access);
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  if (const Masked masked = masked_parts(call); masked.mask != nullptr) {
    const uint64_t element = layout.getTypeStoreSize(masked.data->getScalarType());
    if (pointer->getType()->isVectorTy()) {
      const unsigned lanes = llvm::cast<llvm::FixedVectorType>(pointer->getType())->getNumElements();
      for (unsigned lane = 0; lane < lanes; ++lane) {
        llvm::Value* active = builder.CreateExtractElement(masked.mask, lane);
        out.push_back({builder.CreateExtractElement(pointer, lane),
                       builder.CreateSelect(active, emit.size(element), emit.size(0))});
      }
      return;
    }
    const bool packed = call.getIntrinsicID() == llvm::Intrinsic::masked_expandload ||
                        call.getIntrinsicID() == llvm::Intrinsic::masked_compressstore;
    out.push_back(packed ? packed_span(emit, pointer, masked.mask, element, access.size)
                         : active_span(emit, pointer, masked.mask, element, access.size));
    return;
  }
  if (is_sign_masked(call)) {
    llvm::Value* mask = call.getArgOperand(1);
    llvm::Value* lanes = builder.CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType()));
    out.push_back(active_span(emit, pointer, lanes, layout.getTypeStoreSize(mask->getType()->getScalarType()),
                              layout.getTypeStoreSize(mask->getType())));
    return;
  }
  llvm::Value* size = emit.size(access.size != 0 ? access.size : target_specific_size(call));
  if (!pointer->getType()->isVectorTy()) return out.push_back({pointer, size});
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(pointer->getType())->getNumElements();
  for (unsigned lane = 0; lane < lanes; ++lane)
    out.push_back({builder.CreateExtractElement(pointer, lane), size});
}

}  // namespace

void AccessHooks::add(llvm::ArrayRef<Access> all) {
  llvm::SmallVector<Access, 2> shared;
  std::ranges::copy_if(all, std::back_inserter(shared), is_hookable);
  if (shared.empty()) return;
  auto* at = const_cast<llvm::Instruction*>(shared[0].instruction);
  HookEmitter emit(program_, hooks_, *at);
  llvm::Value* size = emit.size(shared[0].size);
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(at)) {
    const heddle_order order = hook_order(load->getOrdering(), load->getSyncScopeID());
    load->setOperand(llvm::LoadInst::getPointerOperandIndex(),
                     emit.read(load->getPointerOperand(), size, order));
    drop_alias_marks(*load);
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(at)) {
    const heddle_order order = hook_order(store->getOrdering(), store->getSyncScopeID());
    store->setOperand(llvm::StoreInst::getPointerOperandIndex(),
                      emit.write(store->getPointerOperand(), size, order));
    drop_alias_marks(*store);
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(at)) {
    emit.update(update->getPointerOperand(), size, hook_order(update->getOrdering(), update->getSyncScopeID()));
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(at)) {
    emit.update(exchange->getPointerOperand(), size,
                hook_order(exchange->getSuccessOrdering(), exchange->getSyncScopeID()));
  } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(at)) {
    add_transfer(*copy, shared);
  } else if (auto* set = llvm::dyn_cast<llvm::AnyMemSetInst>(at)) {
    llvm::Value* length = emit.builder().CreateZExtOrTrunc(set->getLength(), emit.builder().getInt64Ty());
    set->setDest(emit.write(set->getRawDest(), length, HEDDLE_ORDER_plain));
    drop_alias_marks(*set);
  } else {
    add_in_place(*llvm::cast<llvm::IntrinsicInst>(at), shared);
  }
}

void AccessHooks::add_lent(const Access& access) {
  if (!is_hookable(access)) return;
  auto* at = const_cast<llvm::Instruction*>(access.instruction);
  HookEmitter emit(program_, hooks_, *at);
  llvm::Value* pointer = pointer_of(access);
  if (pointer->getType()->isVectorTy())  // lanes lie apart: all buffered stores, as for code that is not seen
    return emit.leave(llvm::ConstantPointerNull::get(emit.builder().getPtrTy()));
  llvm::Value* size = emit.size(access.size);
  if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(at))
    size = emit.builder().CreateZExtOrTrunc(memory->getLength(), emit.builder().getInt64Ty());
  emit.own(pointer, size);
}

void AccessHooks::add_transfer(llvm::AnyMemTransferInst& copy, llvm::ArrayRef<Access> shared) {
  HookEmitter emit(program_, hooks_, copy);
  llvm::Value* length = emit.builder().CreateZExtOrTrunc(copy.getLength(), emit.builder().getInt64Ty());
  const bool reads = find(shared, AccessKind::read) != nullptr;
  const bool writes = find(shared, AccessKind::write) != nullptr;
  if (reads && writes) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(length);
    if (constant != nullptr && constant->getZExtValue() <= kBufferSize &&
        llvm::isa<llvm::MemTransferInst>(copy))
      return copy_through_stack(copy, emit);
    emit.range(copy.getRawSource(), length, nullptr, false);
    emit.range(copy.getRawDest(), length, nullptr, true);
    return emit.call();
  }
  if (reads) copy.setSource(emit.read(copy.getRawSource(), length, HEDDLE_ORDER_plain));
  if (writes) copy.setDest(emit.write(copy.getRawDest(), length, HEDDLE_ORDER_plain));
  drop_alias_marks(copy);
}

// The read happens at its own decision point, before that of the write.
void AccessHooks::copy_through_stack(llvm::AnyMemTransferInst& copy, HookEmitter& emit) {
  llvm::IRBuilder<>& builder = emit.builder();
  llvm::Value* length = builder.CreateZExtOrTrunc(copy.getLength(), builder.getInt64Ty());
  llvm::AllocaInst* buffer = buffer_of(*copy.getFunction());
  drop_alias_marks(copy);
  copy.setTailCall(false);  // it reads this function's stack now
  auto* first = llvm::cast<llvm::AnyMemTransferInst>(copy.clone());
  first->setSource(emit.read(copy.getRawSource(), length, HEDDLE_ORDER_plain));
  first->setDest(buffer);
  first->setDestAlignment(llvm::Align(kBufferAlignment));
  first->setDebugLoc(hook_location(copy));
  builder.Insert(first);
  copy.setDest(emit.write(copy.getRawDest(), length, HEDDLE_ORDER_plain));
  copy.setSource(buffer);
  copy.setSourceAlignment(llvm::Align(kBufferAlignment));
}

// One for all copies of the function: none lasts longer than from its read to its write.
llvm::AllocaInst* AccessHooks::buffer_of(llvm::Function& function) {
  llvm::AllocaInst*& buffer = buffers_[&function];
  if (buffer != nullptr) return buffer;
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::IRBuilder<> builder(&entry, entry.getFirstInsertionPt());
  buffer = builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), kBufferSize));
  buffer->setAlignment(llvm::Align(kBufferAlignment));
  return buffer;
}

void AccessHooks::add_in_place(llvm::IntrinsicInst& call, llvm::ArrayRef<Access> shared) {
  HookEmitter emit(program_, hooks_, call);
  llvm::SmallVector<Span, 8> spans;
  llvm::SmallVector<bool, 8> writes;
  for (const Access& access : shared) {
    append_spans(emit, call, access, spans);
    writes.resize(spans.size(), access.kind != AccessKind::read);
  }
  if (spans.size() == 1) return emit.in_place(spans[0].pointer, spans[0].size, writes[0]);
  for (size_t i = 0; i < spans.size(); ++i) emit.range(spans[i].pointer, spans[i].size, nullptr, writes[i]);
  emit.call();
}

}  // namespace heddle
