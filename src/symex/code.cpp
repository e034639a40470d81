#include "symex/code.h"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/access.h"
#include "trace/trace.h"

namespace heddle {
namespace {

uint8_t order_of(llvm::AtomicOrdering order) {
  switch (order) {
    case llvm::AtomicOrdering::NotAtomic:
      return static_cast<uint8_t>(AccessOrder::plain);
    case llvm::AtomicOrdering::Unordered:
    case llvm::AtomicOrdering::Monotonic:
      return static_cast<uint8_t>(AccessOrder::relaxed);
    case llvm::AtomicOrdering::Acquire:
      return static_cast<uint8_t>(AccessOrder::acquire);
    case llvm::AtomicOrdering::Release:
      return static_cast<uint8_t>(AccessOrder::release);
    case llvm::AtomicOrdering::AcquireRelease:
      return static_cast<uint8_t>(AccessOrder::acq_rel);
    default:
      return static_cast<uint8_t>(AccessOrder::seq_cst);
  }
}

bool is_in_thread_local(const llvm::Constant& constant) {
  if (!constant.getType()->isPointerTy()) return false;
  const auto* variable =
      llvm::dyn_cast<llvm::GlobalVariable>(constant.stripInBoundsConstantOffsets()->stripPointerCasts());
  return variable != nullptr && variable->isThreadLocal();
}

uint8_t order_of(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return order_of(load->getOrdering());
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return order_of(store->getOrdering());
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return order_of(update->getOrdering());
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return order_of(exchange->getSuccessOrdering());
  const auto fence = fence_ordering(instruction);
  return fence ? order_of(*fence) : 0;
}

}  // namespace

class CodeCache::Compiler {
 public:
  Compiler(CodeCache& cache, const llvm::Function& function) : cache_(cache), function_(function) {
    out_.function = &function;
  }

  FunctionOps run() {
    for (const llvm::Argument& argument : function_.args()) {
      out_.arguments.push_back(static_cast<int32_t>(out_.cells));
      place(argument);
    }
    for (const llvm::Instruction& instruction : llvm::instructions(function_)) place(instruction);
    for (const llvm::BasicBlock& block : function_) add_block(block);
    return std::move(out_);
  }

 private:
  const ValueLayout& layout(const llvm::Value& value) { return cache_.layouts_.of(value.getType()); }

  void place(const llvm::Value& value) {
    out_.places[&value] = static_cast<int32_t>(out_.cells);
    out_.cells += layout(value).cells;
  }

  int32_t operand(const llvm::Value& value) {
    const auto found = out_.places.find(&value);
    if (found != out_.places.end()) return found->second;
    const auto* constant = llvm::dyn_cast<llvm::Constant>(&value);
    const auto at = static_cast<int32_t>(out_.constants.size());
    const uint32_t cells = std::max<uint32_t>(layout(value).cells, 1);
    out_.constants.resize(out_.constants.size() + cells);
    if (constant != nullptr) {
      cache_.image_.evaluate(*constant, &out_.constants[static_cast<size_t>(at)]);
      if (is_in_thread_local(*constant)) out_.thread_local_constants.push_back(static_cast<uint32_t>(at));
    }
    return out_.places[&value] = ~at;
  }

  static bool is_static_object(const llvm::Instruction& instruction) {
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    return object != nullptr && object->isStaticAlloca();
  }

  // Static stack objects come first: so they are told (record_plan.h).
  void add_block(const llvm::BasicBlock& block) {
    BlockCode code{.block = &block, .first = static_cast<uint32_t>(out_.ops.size())};
    for (const llvm::Instruction& instruction : block)
      if (is_static_object(instruction)) add(instruction);
    for (const llvm::Instruction& instruction : block)
      if (!llvm::isa<llvm::PHINode>(instruction) && !is_static_object(instruction)) add(instruction);
    code.last = static_cast<uint32_t>(out_.ops.size()) - 1;
    for (const llvm::PHINode& phi : block.phis()) {
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        const llvm::BasicBlock* from = phi.getIncomingBlock(i);
        auto moves = llvm::find_if(code.phis, [&](const auto& each) { return each.first == from; });
        if (moves == code.phis.end()) {
          code.phis.emplace_back(from, std::vector<PhiMove>());
          moves = std::prev(code.phis.end());
        }
        const int32_t to = out_.places[&phi];
        if (llvm::none_of(moves->second, [&](const PhiMove& move) { return move.to == to; }))
          moves->second.push_back({to, operand(*phi.getIncomingValue(i)), layout(phi).cells});
      }
    }
    out_.block_numbers[&block] = static_cast<uint32_t>(out_.blocks.size());
    out_.blocks.push_back(std::move(code));
  }

  void add(const llvm::Instruction& instruction) {
    if (instruction.isDebugOrPseudoInst()) return;
    Op op{.instruction = &instruction, .to = out_.places[&instruction]};
    const ValueLayout& type = layout(instruction);
    op.type = llvm::isa<llvm::StoreInst>(instruction) ? &layout(*instruction.getOperand(0)) : &type;
    if (!type.leaves.empty()) {
      op.lanes = static_cast<uint16_t>(type.leaves.size());
      op.bits = op.to_bits = static_cast<uint16_t>(type.leaves.front().bits);
    }
    if (instruction.getNumOperands() > 0 && !llvm::isa<llvm::CallBase, llvm::BranchInst>(instruction)) {
      const llvm::Value& first = *instruction.getOperand(0);
      if (!llvm::isa<llvm::BasicBlock>(first)) op.a = operand(first);
      if (!layout(first).leaves.empty()) op.bits = static_cast<uint16_t>(layout(first).leaves.front().bits);
      if (instruction.getNumOperands() > 1 && !llvm::isa<llvm::BasicBlock>(instruction.getOperand(1)))
        op.b = operand(*instruction.getOperand(1));
      if (instruction.getNumOperands() > 2 && !llvm::isa<llvm::BasicBlock>(instruction.getOperand(2)))
        op.c = operand(*instruction.getOperand(2));
    }
    op.reads_shared = cache_.shared_reads_.contains(&instruction);
    op.writes_shared = cache_.shared_writes_.contains(&instruction);
    op.order = order_of(instruction);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    op.counts = op.reads_shared || op.writes_shared || fence_ordering(instruction) ||
                (call != nullptr && cache_.counts(*call));
    choose(instruction, op);
    if (cache_.plan_.logged(instruction) != 0) op.stop = Stop::value;
    if (instruction.isTerminator()) op.stop = op.stop == Stop::call ? Stop::call : Stop::end;
    if (op.stop == Stop::call || op.stop == Stop::value)
      out_.op_of[&instruction] = static_cast<uint32_t>(out_.ops.size());
    out_.ops.push_back(op);
    if (op.stop == Stop::call &&
        instruction.isTerminator()) {  // an invoke is a call, and then the end of its block
      op.stop = Stop::end;
      out_.ops.push_back(op);
    }
  }

  void choose(const llvm::Instruction& instruction, Op& op) {
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return choose_call(*call, op);
    if (instruction.isTerminator()) {
      for (const llvm::Use& use : instruction.operands())
        if (!llvm::isa<llvm::BasicBlock>(use)) operand(*use);
      if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
          branch && branch->isConditional())
        op.a = operand(*branch->getCondition());
      return;
    }
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) add_address(*address, op);
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
      op.extra = static_cast<uint32_t>(out_.lane_choices.size());
      out_.lane_choices.emplace_back(shuffle->getShuffleMask().begin(), shuffle->getShuffleMask().end());
    }
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) op.run = cast_action(*cast);
    if (op.run == nullptr) op.run = integer_action(instruction);
    if (op.run == nullptr) op.run = float_action(instruction);
    if (op.run == nullptr) op.run = memory_action(instruction);
    if (op.run == nullptr) op.run = aggregate_action(instruction);
    if (op.run == nullptr) op.run = unknown_result;
  }

  void choose_call(const llvm::CallBase& call, Op& op) {
    for (const llvm::Use& argument : call.args())
      if (!argument->getType()->isMetadataTy()) operand(*argument);
    const CallPlan& plan = cache_.plan_.call(call);
    if (plan.kind != CallPlan::Kind::quiet || plan.returns_twice) {
      if (plan.kind == CallPlan::Kind::pointer) op.a = operand(*call.getCalledOperand());
      op.stop = Stop::call;
      return;
    }
    if (call.arg_size() > 0 && !call.getArgOperand(0)->getType()->isMetadataTy()) {
      op.a = operand(*call.getArgOperand(0));
      if (!layout(*call.getArgOperand(0)).leaves.empty())
        op.bits = static_cast<uint16_t>(layout(*call.getArgOperand(0)).leaves.front().bits);
    }
    if (call.arg_size() > 1 && !call.getArgOperand(1)->getType()->isMetadataTy())
      op.b = operand(*call.getArgOperand(1));
    if (call.arg_size() > 2 && !call.getArgOperand(2)->getType()->isMetadataTy())
      op.c = operand(*call.getArgOperand(2));
    op.run = fence_ordering(call)                                      ? memory_action(call)
             : call.getIntrinsicID() != llvm::Intrinsic::not_intrinsic ? intrinsic_action(call)
                                                                       : quiet_call_action(call, plan);
    if (op.run == nullptr) op.run = unknown_result;
  }

  void add_address(const llvm::GetElementPtrInst& address, Op& op) {
    AddressParts parts{.base_lanes = address.getPointerOperandType()->isVectorTy()};
    const llvm::DataLayout& data = cache_.layouts_.data_layout();
    for (auto at = llvm::gep_type_begin(address), end = llvm::gep_type_end(address); at != end; ++at) {
      const llvm::Value& index = *at.getOperand();
      if (llvm::StructType* structure = at.getStructTypeOrNull()) {
        const auto* number = llvm::cast<llvm::Constant>(&index);
        if (number->getType()->isVectorTy()) number = number->getSplatValue();
        const auto field = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(number)->getZExtValue());
        parts.constant +=
            static_cast<int64_t>(uint64_t{data.getStructLayout(structure)->getElementOffset(field)});
        continue;
      }
      const auto scale = static_cast<int64_t>(uint64_t{at.getSequentialElementStride(data)});
      if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&index);
          number != nullptr && !number->getType()->isVectorTy()) {
        parts.constant += number->getSExtValue() * scale;
      } else {
        parts.indexes.push_back({operand(index), static_cast<uint16_t>(index.getType()->getScalarSizeInBits()),
                                 index.getType()->isVectorTy(), scale});
      }
    }
    op.extra = static_cast<uint32_t>(out_.addresses.size());
    out_.addresses.push_back(std::move(parts));
  }

  CodeCache& cache_;
  const llvm::Function& function_;
  FunctionOps out_;
};

CodeCache::CodeCache(const Program& program, const RecordPlan& plan, const ProgramImage& image)
    : program_(program), plan_(plan), image_(image), layouts_(program.module().getDataLayout()) {
  for (const Access& access : plan.sharing().accesses) {
    if (access.sharing != Sharing::shared) continue;
    if (access.kind != AccessKind::write) shared_reads_.insert(access.instruction);
    if (access.kind != AccessKind::read) shared_writes_.insert(access.instruction);
  }
  for (const ArgumentAccess& access : plan.sharing().argument_accesses)
    if (access.sharing == Sharing::shared) shared_arguments_[access.call].push_back(&access);
}

// As src/instrument/control_calls.cpp has it.
bool CodeCache::counts(const llvm::CallBase& call) const {
  if (llvm::isa<llvm::IntrinsicInst>(call) || call.isInlineAsm()) return false;
  const CallInfo& info = plan_.call(call).info;
  if (info.effects == nullptr || info.cls == CallClass::synchronisation) return false;
  if (info.effects->allocation == AllocationKind::release ||
      info.effects->allocation == AllocationKind::reallocate)
    return true;
  return shared_arguments_.contains(&call);
}

llvm::ArrayRef<const ArgumentAccess*> CodeCache::shared_arguments(const llvm::CallBase& call) const {
  const auto found = shared_arguments_.find(&call);
  return found == shared_arguments_.end() ? llvm::ArrayRef<const ArgumentAccess*>() : found->second;
}

const FunctionOps& CodeCache::of(const llvm::Function& function) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<FunctionOps>& code = functions_[&function];
  if (code == nullptr) code = std::make_unique<FunctionOps>(Compiler(*this, function).run());
  return *code;
}

}  // namespace heddle
