// What each instruction does with the pointers it is given.
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "program/backward_steps.h"
#include "program/pointer_flow.h"
#include "program/type_marks.h"

namespace heddle {

using namespace object_kind;

static constexpr int64_t kWord = 8;  // bytes of a pointer

void PointerFlow::visit_function(const llvm::Function& function) {
  for (const llvm::Argument& argument : function.args()) {
    if (argument.hasByValAttr()) graph_.add_object(target(&argument), kStack);
  }
  const bool entry = function.getName() == "main";
  if (entry || (options_.foreign_callers && !function.hasLocalLinkage())) called_from_outside(function);
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) visit(instruction);
  }
  visit_narrow_copies(function);
}

void PointerFlow::visit(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Alloca:
      return define(instruction, graph_.make(kStack));
    case llvm::Instruction::Load:
      return visit_load(instruction, instruction.getOperand(0));
    case llvm::Instruction::Store:
      return visit_store(instruction, instruction.getOperand(0), instruction.getOperand(1));
    case llvm::Instruction::AtomicCmpXchg: {
      const auto& exchange = llvm::cast<llvm::AtomicCmpXchgInst>(instruction);
      visit_store(exchange, exchange.getNewValOperand(), exchange.getPointerOperand());
      return each_word(target(exchange.getPointerOperand()), exchange.getNewValOperand()->getType(),
                       [&](ClassId word) { load(carrier(&instruction), word, false); });
    }
    case llvm::Instruction::AtomicRMW:
      return visit_update(llvm::cast<llvm::AtomicRMWInst>(instruction));
    case llvm::Instruction::GetElementPtr:
      return visit_address(llvm::cast<llvm::GetElementPtrInst>(instruction));
    case llvm::Instruction::Call:
    case llvm::Instruction::Invoke:
    case llvm::Instruction::CallBr:
      return visit_call(llvm::cast<llvm::CallBase>(instruction));
    case llvm::Instruction::LandingPad:
      return assign(carrier(&instruction), as_pointer(exceptions_));
    case llvm::Instruction::Ret: {
      if (instruction.getNumOperands() == 0) return;
      return assign(returned(*instruction.getFunction()), carrier(instruction.getOperand(0)));
    }
    case llvm::Instruction::VAArg:  // the list points to the area, the area holds the arguments
      return load(carrier(&instruction), graph_.contents(target(instruction.getOperand(0))), false);
    case llvm::Instruction::PHI:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::ExtractValue:
    case llvm::Instruction::InsertValue:
    case llvm::Instruction::ShuffleVector:
    case llvm::Instruction::BitCast:
    case llvm::Instruction::AddrSpaceCast:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Select:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::InsertElement:
      // Conditions and indices are among the operands; they are numbers, and cost precision at worst.
      if (carry_of(instruction.getType()) == Carry::nothing) return;
      for (const llvm::Use& operand : instruction.operands()) assign(instruction, operand.get());
      return;
    default:
      if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
        visit_arithmetic(*operation);
  }
}

// Of what is longer than a pointer any word may be one.
void PointerFlow::each_word(ClassId object, llvm::Type* type, llvm::function_ref<void(ClassId)> visit) {
  constexpr uint64_t kMany = 128;
  const llvm::TypeSize size = module_.getDataLayout().getTypeStoreSize(type);
  if (size.isScalable() || size.getFixedValue() > kMany) {
    graph_.fold(object);
    return visit(object);
  }
  visit(object);
  for (int64_t at = kWord; at < static_cast<int64_t>(size.getFixedValue()); at += kWord)
    visit(graph_.displaced(object, at));
}

void PointerFlow::visit_load(const llvm::Instruction& result, const llvm::Value* pointer) {
  if (result.getType()->isPointerTy()) return define(result, graph_.contents(target(pointer)));
  if (carry_of(result.getType()) == Carry::nothing) return;
  each_word(target(pointer), result.getType(),
            [&](ClassId word) { load(carrier(&result), word, is_marked_number(result)); });
}

void PointerFlow::visit_store(const llvm::Instruction& instruction, const llvm::Value* value,
                              const llvm::Value* pointer) {
  if (carrier(value).empty()) return;
  each_word(target(pointer), value->getType(),
            [&](ClassId word) { store(carrier(value), word, is_marked_number(instruction)); });
}

void PointerFlow::visit_update(const llvm::AtomicRMWInst& update) {
  visit_load(update, update.getPointerOperand());
  if (update.getOperation() != llvm::AtomicRMWInst::Xchg && carry_of(update.getType()) != Carry::nothing) {
    const ClassId moved = somewhere();  // what is there leads elsewhere in its object
    for (const Held held : {Held::as_pointer, Held::as_number})
      graph_.flow(graph_.contents(target(update.getPointerOperand()), held), moved);
  }
  switch (update.getOperation()) {
    case llvm::AtomicRMWInst::Sub:  // the operand is a distance
    case llvm::AtomicRMWInst::FAdd:
    case llvm::AtomicRMWInst::FSub:
      return;
    default:
      return visit_store(update, update.getValOperand(), update.getPointerOperand());
  }
}

// The base carries, the indices are numbers; unless the base is null and the "index" is the address.
void PointerFlow::visit_address(const llvm::GetElementPtrInst& address) {
  const ClassId base = target(address.getPointerOperand());
  if (base != kNothing) return define(address, stepped(base, llvm::cast<llvm::GEPOperator>(address)));
  for (const llvm::Use& index : address.indices()) assign(address, index.get());
  graph_.fold_whole(target(&address));
}

ClassId PointerFlow::stepped(ClassId from, const llvm::GEPOperator& step) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  llvm::APInt distance(layout.getIndexTypeSizeInBits(step.getType()), 0);
  if (step.getType()->isVectorTy() || !step.accumulateConstantOffset(layout, distance)) {
    if (step.getType()->isVectorTy() || may_lead_back(step, layout))
      graph_.fold_whole(from);
    else
      graph_.fold(from);
    return from;
  }
  if (distance.isNegative()) {
    // One step, with the index before it: not less than 0, but it may be 0.
    const auto* before = llvm::dyn_cast<llvm::GEPOperator>(step.getPointerOperand());
    if (before != nullptr && !before->hasAllConstantIndices()) {
      const ClassId first = graph_.displaced(from, distance.getSExtValue());
      graph_.fold(first);
      return first;
    }
    // Bytes and the like are walked through backwards from where a walk forward, or a variable index, ended.
    if (distance.sle(-kWord)) steps_back_.push_back(from);
  }
  return graph_.displaced(from, distance.getSExtValue());
}

// From a place that was reached by steps of any size one may come anywhere by steps back.
void PointerFlow::fold_steps_back() {
  for (const ClassId from : steps_back_)
    if (graph_.is_folded(from)) graph_.fold_whole(from);
}

static bool is_difference(const llvm::BinaryOperator& operation) {
  return llvm::isa<llvm::PtrToIntOperator>(operation.getOperand(1));
}

// x / c * c: rounding down to a multiple.
static const llvm::Value* rounded(const llvm::BinaryOperator& product) {
  const auto* quotient = llvm::dyn_cast<llvm::BinaryOperator>(product.getOperand(0));
  if (quotient == nullptr || quotient->getOpcode() != llvm::Instruction::UDiv) return nullptr;
  return quotient->getOperand(1) == product.getOperand(1) ? quotient->getOperand(0) : nullptr;
}

void PointerFlow::visit_arithmetic(const llvm::BinaryOperator& operation) {
  if (carry_of(operation.getType()) == Carry::nothing) return;
  const auto operand = [&](const llvm::Value* value) {
    const Carrier from = carrier(value);
    if (!from.empty()) compute(carrier(&operation), from);
  };
  switch (operation.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Or:
    case llvm::Instruction::And:
    case llvm::Instruction::Xor:
      operand(operation.getOperand(0));
      return operand(operation.getOperand(1));
    case llvm::Instruction::Sub:
      if (!is_difference(operation)) operand(operation.getOperand(0));
      return;
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return operand(operation.getOperand(0));
    case llvm::Instruction::Mul:
      if (const llvm::Value* whole = rounded(operation)) operand(whole);
      return;
    default:
      return;
  }
}

void PointerFlow::visit_intrinsic(const llvm::IntrinsicInst& call) {
  if (const auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(&call)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(transfer->getLength());
    return graph_.copy(target(transfer->getRawDest()), target(transfer->getRawSource()),
                       length == nullptr ? PointsToGraph::kToTheEnd : length->getZExtValue());
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::vastart:
      graph_.fold(target(call.getArgOperand(0)));
      return graph_.join(graph_.contents(target(call.getArgOperand(0))), variadic_area(*call.getFunction()));
    case llvm::Intrinsic::vacopy:
      return graph_.copy(target(call.getArgOperand(0)), target(call.getArgOperand(1)));
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
      assign(call, call.getArgOperand(call.arg_size() - 1));  // lanes that are not loaded
      return visit_load(call, call.getArgOperand(0));
    case llvm::Intrinsic::masked_expandload:
      assign(call, call.getArgOperand(2));
      return visit_load(call, call.getArgOperand(0));
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
    case llvm::Intrinsic::masked_compressstore:
      return visit_store(call, call.getArgOperand(0), call.getArgOperand(1));
    case llvm::Intrinsic::stacksave:
    case llvm::Intrinsic::frameaddress:
    case llvm::Intrinsic::returnaddress:
    case llvm::Intrinsic::addressofreturnaddress:
    case llvm::Intrinsic::sponentry:
    case llvm::Intrinsic::objectsize:
      return;
    default:
      return visit_other_intrinsic(call);
  }
}

static bool gives_its_argument(llvm::Intrinsic::ID id) {
  return id == llvm::Intrinsic::launder_invariant_group || id == llvm::Intrinsic::strip_invariant_group ||
         id == llvm::Intrinsic::threadlocal_address || id == llvm::Intrinsic::expect ||
         id == llvm::Intrinsic::ssa_copy || id == llvm::Intrinsic::ptr_annotation;
}

// Arithmetic, annotations, casts in disguise: what goes in may come out, with another distance. Those that
// touch memory (processor-specific loads and stores) may also move between their arguments and the memory these
// point to.
void PointerFlow::visit_other_intrinsic(const llvm::IntrinsicInst& call) {
  const bool touches_memory =
      call.getCalledFunction()->getName().starts_with("llvm.x86.") && call.mayReadOrWriteMemory();
  if (!touches_memory && carry_of(call.getType()) == Carry::nothing) return;
  for (const llvm::Use& argument : call.args()) {
    const Carrier given = carrier(argument.get());
    if (!given.empty() && !gives_its_argument(call.getIntrinsicID())) {
      const ClassId moved = somewhere();
      graph_.flow(given.target, moved);
      graph_.flow(given.numbers, moved);
    }
    assign(call, argument.get());
    if (!touches_memory || !argument->getType()->isPtrOrPtrVectorTy()) continue;
    visit_load(call, argument.get());
    for (const llvm::Use& stored : call.args()) {
      if (stored.get() != argument.get()) visit_store(call, stored.get(), argument.get());
    }
  }
}

}  // namespace heddle
