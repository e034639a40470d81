#include "instrument/record_calls.h"

#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/record_ranges.h"
#include "program/stored_bytes.h"

namespace heddle {
namespace {

llvm::Constant* section_mark(llvm::Module& module, const char* name) {
  auto* mark = llvm::cast<llvm::GlobalVariable>(
      module.getOrInsertGlobal(name, llvm::Type::getInt8Ty(module.getContext())));
  mark->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
  mark->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return mark;
}

// Where code runs when the call has returned; null if there is no such place.
llvm::Instruction* behind(llvm::CallBase& call) {
  if (call.doesNotReturn() || call.isMustTailCall()) return nullptr;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
    llvm::BasicBlock* next = invoke->getNormalDest();
    if (next->getSinglePredecessor() == nullptr) next = llvm::SplitEdge(invoke->getParent(), next);
    return &*next->getFirstInsertionPt();
  }
  return call.isTerminator() ? nullptr : call.getNextNode();
}

}  // namespace

CallRecorder::CallRecorder(const Program& program, const RecordPlan& plan, const RecordHooks& hooks,
                           llvm::Module& module)
    : program_(program),
      plan_(plan),
      hooks_(hooks),
      entries_begin_(section_mark(module, "__start_" HEDDLE_RECORD_ENTRIES)),
      entries_end_(section_mark(module, "__stop_" HEDDLE_RECORD_ENTRIES)) {}

void CallRecorder::add(llvm::CallBase& call) {
  const CallPlan& plan = plan_.call(call);
  if (plan.returns_twice) return add_twice(call);
  if (plan.kind == CallPlan::Kind::pointer) return add_pointer_call(call, plan);
  if (plan.kind != CallPlan::Kind::loud) return;
  if (plan.sync != HEDDLE_SYNC_none) add_sync(call, plan);
  if (llvm::Instruction* place = behind(call)) add_returned(*place, call, plan);
}

void CallRecorder::add_sync(llvm::CallBase& call, const CallPlan& plan) {
  LogEmitter before(hooks_, call);
  llvm::IRBuilder<>& builder = before.builder();
  llvm::SmallVector<llvm::Value*, 4> arguments = {builder.getInt32(plan.sync)};
  for (const int number : plan.info.effects->sync_objects) {
    llvm::Value* object = call.getArgOperand(static_cast<unsigned>(number));
    if (object->getType()->isIntegerTy()) object = builder.CreateIntToPtr(object, builder.getPtrTy());
    arguments.push_back(object);
  }
  while (arguments.size() < 4) arguments.push_back(llvm::ConstantPointerNull::get(builder.getPtrTy()));
  builder.CreateCall(hooks_.sync, arguments);
}

void CallRecorder::add_returned(llvm::Instruction& behind, llvm::CallBase& call, const CallPlan& plan) {
  LogEmitter at(hooks_, behind);
  llvm::IRBuilder<>& builder = at.builder();
  llvm::Value* result = builder.getInt64(0);
  if (plan.result_bytes != 0)
    result = builder.CreateZExt(at.stored_form(&call, plan.result_bytes), builder.getInt64Ty());
  const bool stamped = plan.sync != HEDDLE_SYNC_none && !heddle_sync_releases(plan.sync);
  const uint32_t flags =
      (plan.sets_errno ? HEDDLE_RECORD_returned_errno : 0u) | (stamped ? HEDDLE_RECORD_returned_stamp : 0u);
  builder.CreateCall(hooks_.returned, {result, builder.getInt32(plan.result_bytes), builder.getInt32(flags)});
  for (const WrittenRange& range : plan.ranges) emit_written_range(hooks_, builder, call, range);
}

// A pointer to an entry leads to the program, and the entry tells where; all others lead outside.
void CallRecorder::add_pointer_call(llvm::CallBase& call, const CallPlan& plan) {
  LogEmitter before(hooks_, call);
  llvm::IRBuilder<>& builder = before.builder();
  llvm::Value* target = call.getCalledOperand();
  llvm::Value* outside = builder.CreateOr(builder.CreateICmpULT(target, entries_begin_),
                                          builder.CreateICmpUGE(target, entries_end_));
  llvm::Instruction* leaving = llvm::SplitBlockAndInsertIfThen(outside, &call, false);
  LogEmitter(hooks_, *leaving).builder().CreateCall(hooks_.foreign, {target});
  LogEmitter(hooks_, call).set_called(outside);
  llvm::Instruction* place = behind(call);
  if (place == nullptr) return;
  llvm::Instruction* came_back = llvm::SplitBlockAndInsertIfThen(outside, place, false);
  add_returned(*came_back, call, plan);
}

void CallRecorder::add_twice(llvm::CallBase& call) {
  llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Value* mark = at_entry.CreateAlloca(at_entry.getInt64Ty());
  LogEmitter(hooks_, call).builder().CreateCall(hooks_.twice_begin, {mark});
  llvm::Instruction* place = behind(call);
  if (place == nullptr) return;
  LogEmitter at(hooks_, *place);
  llvm::Value* result = at.builder().getInt32(0);
  if (call.getType()->isIntegerTy()) result = at.builder().CreateZExtOrTrunc(&call, at.builder().getInt32Ty());
  at.builder().CreateCall(
      hooks_.twice,
      {mark, at.builder().getInt32(program_.id_of(static_cast<llvm::Instruction&>(call)).value), result});
}

// A known branch that needs the value must go by what is written, even if it is poison (promises.h).
void CallRecorder::add_value(llvm::Instruction& instruction, unsigned bytes) {
  LogEmitter at(hooks_, *instruction.getNextNode());
  llvm::IRBuilder<>& builder = at.builder();
  llvm::Type* type = instruction.getType();
  const bool needed = plan_.known().needed(instruction);
  llvm::Value* const value = needed ? builder.CreateFreeze(&instruction) : &instruction;
  const bool narrow = type->isIntegerTy() && bytes < stored_bytes(*type);
  llvm::Value* const written = narrow ? builder.CreateTrunc(value, builder.getIntNTy(bytes * 8)) : value;
  if (needed) {
    llvm::Value* const read = narrow ? builder.CreateZExt(written, type) : value;
    instruction.replaceUsesWithIf(read, [&](const llvm::Use& use) { return use.getUser() != value; });
  }
  at.append({{written, bytes}});
}

}  // namespace heddle
