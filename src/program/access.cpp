#include "program/access.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "base/result.h"

namespace heddle {
namespace {

// Scalable vectors have no size before run time.
uint64_t store_size(const llvm::Instruction& at, llvm::Type* type) {
  const llvm::TypeSize size = at.getModule()->getDataLayout().getTypeStoreSize(type);
  return size.isScalable() ? 0 : size.getFixedValue();
}

uint64_t constant_length(const llvm::Value* length) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(length);
  return constant == nullptr ? 0 : constant->getValue().getLimitedValue();
}

bool no_bytes(const llvm::Value* length) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(length);
  return constant != nullptr && constant->isZero();
}

// The whole vector is the most that a masked operation touches. For gather and scatter `pointer` is a vector
// and the bytes lie apart: the size is that of all lanes together.
void append_masked(const llvm::IntrinsicInst& call, std::vector<Access>& out) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
    case llvm::Intrinsic::masked_expandload:
      out.push_back({.instruction = &call,
                     .pointer = call.getArgOperand(0),
                     .kind = AccessKind::read,
                     .size = store_size(call, call.getType())});
      return;
    default:
      out.push_back({.instruction = &call,
                     .pointer = call.getArgOperand(1),
                     .kind = AccessKind::write,
                     .size = store_size(call, call.getArgOperand(0)->getType())});
  }
}

void append_transfer(const llvm::AnyMemTransferInst& call, std::vector<Access>& out) {
  if (no_bytes(call.getLength())) return;
  Access access{.instruction = &call,
                .pointer = call.getRawSource(),
                .kind = AccessKind::read,
                .size = constant_length(call.getLength()),
                .atomic = llvm::isa<llvm::AtomicMemTransferInst>(call)};
  out.push_back(access);
  access.pointer = call.getRawDest();
  access.kind = AccessKind::write;
  out.push_back(access);
}

// Processor-specific intrinsics are many; their attributes say what they do to their pointer arguments. Only
// the families that move data count: prefetches and cache flushes are no accesses, but saying that they are is
// harmless.
void append_target_specific(const llvm::IntrinsicInst& call, std::vector<Access>& out) {
  if (!call.getCalledFunction()->getName().starts_with("llvm.x86.") || !call.mayReadOrWriteMemory()) return;
  for (const llvm::Use& argument : call.args()) {
    if (!argument->getType()->isPtrOrPtrVectorTy()) continue;
    const AccessKind kind = !call.mayWriteToMemory()    ? AccessKind::read
                            : !call.mayReadFromMemory() ? AccessKind::write
                                                        : AccessKind::read_modify_write;
    out.push_back({.instruction = &call, .pointer = argument.get(), .kind = kind});
  }
}

void append_intrinsic(const llvm::IntrinsicInst& call, std::vector<Access>& out) {
  if (const auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(&call))
    return append_transfer(*transfer, out);
  if (const auto* set = llvm::dyn_cast<llvm::AnyMemSetInst>(&call)) {
    if (no_bytes(set->getLength())) return;
    out.push_back({.instruction = &call,
                   .pointer = set->getRawDest(),
                   .kind = AccessKind::write,
                   .size = constant_length(set->getLength()),
                   .atomic = llvm::isa<llvm::AtomicMemSetInst>(set)});
    return;
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
    case llvm::Intrinsic::masked_expandload:
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
    case llvm::Intrinsic::masked_compressstore:
      return append_masked(call, out);
    default:
      return append_target_specific(call, out);
  }
}

}  // namespace

std::string_view access_kind_name(AccessKind kind) {
  switch (kind) {
    case AccessKind::read:
      return "read";
    case AccessKind::write:
      return "write";
    case AccessKind::read_modify_write:
      return "read-modify-write";
  }
  HEDDLE_CHECK(false);
  return {};
}

std::string_view sharing_name(Sharing sharing) {
  switch (sharing) {
    case Sharing::shared:
      return "shared";
    case Sharing::private_stack:
      return "private stack";
    case Sharing::private_heap:
      return "private heap";
    case Sharing::thread_local_store:
      return "thread-local";
    case Sharing::constant_memory:
      return "constant memory";
    case Sharing::unreachable_code:
      return "unreachable code";
  }
  HEDDLE_CHECK(false);
  return {};
}

void append_accesses(const llvm::Instruction& instruction, std::vector<Access>& out) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    out.push_back({.instruction = load,
                   .pointer = load->getPointerOperand(),
                   .kind = AccessKind::read,
                   .size = store_size(*load, load->getType()),
                   .atomic = load->isAtomic()});
  } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    out.push_back({.instruction = store,
                   .pointer = store->getPointerOperand(),
                   .kind = AccessKind::write,
                   .size = store_size(*store, store->getValueOperand()->getType()),
                   .atomic = store->isAtomic()});
  } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    out.push_back({.instruction = update,
                   .pointer = update->getPointerOperand(),
                   .kind = AccessKind::read_modify_write,
                   .size = store_size(*update, update->getType()),
                   .atomic = true});
  } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    out.push_back({.instruction = exchange,
                   .pointer = exchange->getPointerOperand(),
                   .kind = AccessKind::read_modify_write,
                   .size = store_size(*exchange, exchange->getCompareOperand()->getType()),
                   .atomic = true});
  } else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    append_intrinsic(*call, out);
  }
}

std::optional<llvm::AtomicOrdering> fence_ordering(const llvm::Instruction& instruction) {
  if (const auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    if (fence->getSyncScopeID() == llvm::SyncScope::SingleThread) return std::nullopt;
    return fence->getOrdering();
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return std::nullopt;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::x86_sse2_mfence:
      return llvm::AtomicOrdering::SequentiallyConsistent;
    case llvm::Intrinsic::x86_sse_sfence:
      return llvm::AtomicOrdering::Release;
    case llvm::Intrinsic::x86_sse2_lfence:
      return llvm::AtomicOrdering::Acquire;
    default:
      return std::nullopt;
  }
}

}  // namespace heddle
