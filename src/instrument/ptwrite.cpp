#include "instrument/ptwrite.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include "instrument/instrument.h"

namespace heddle {
namespace {

class Writer {
 public:
  Writer(llvm::Function& unit, const llvm::Function& program, const RecordPlan& plan, PlacedPtwrites& out)
      : unit_(unit),
        program_(program),
        plan_(plan),
        out_(out),
        word_(llvm::Type::getInt64Ty(unit.getContext())),
        begin_(&*unit.getEntryBlock().getFirstNonPHIOrDbgOrAlloca()) {}

  void entry() {
    const FunctionPlan* plan = plan_.function(program_);
    if (plan == nullptr || !plan->entered_from_outside) return;
    llvm::IRBuilder<> builder(begin_);
    builder.SetCurrentDebugLocation(hook_location(*begin_));
    const llvm::Instruction& first = program_.getEntryBlock().front();
    thread_pointer(builder, first);
    for (llvm::Argument& argument : unit_.args())
      tell(builder, argument, first, {PtwriteKind::argument, argument.getArgNo()});
    if (unit_.getName() == "main" && unit_.arg_size() >= 2 && unit_.getArg(1)->getType()->isPointerTy())
      tell(builder, *builder.CreateLoad(builder.getPtrTy(), unit_.getArg(1)), first, {PtwriteKind::first_text});
  }

  void instruction(llvm::Instruction& here, const llvm::Instruction& there) {
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&there);
    if (plan_.logged(there) != 0) {
      const bool at_entry = object != nullptr && object->isStaticAlloca() && here.comesBefore(begin_);
      llvm::IRBuilder<> builder(at_entry ? begin_ : here.getNextNode());
      builder.SetCurrentDebugLocation(hook_location(here));
      return tell(builder, here, there, {PtwriteKind::value});
    }
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&there);
    auto* made = llvm::dyn_cast<llvm::CallBase>(&here);
    if (call == nullptr || made == nullptr || made->isMustTailCall() || made->doesNotReturn()) return;
    const CallPlan& plan = plan_.call(*call);
    if (plan.returns_twice || (plan.kind != CallPlan::Kind::loud && plan.kind != CallPlan::Kind::pointer))
      return;
    llvm::Instruction* behind = behind_call(*made);
    if (behind == nullptr) return;
    llvm::IRBuilder<> builder(behind);
    builder.SetCurrentDebugLocation(hook_location(here));
    tell(builder, here, there, {PtwriteKind::result});
    const bool key = plan.sync == HEDDLE_SYNC_key_create;
    if (!key && plan.sync != HEDDLE_SYNC_thread_create) return;
    const auto place = static_cast<unsigned>(plan.info.effects->sync_objects[0]);
    if (place >= made->arg_size() || !made->getArgOperand(place)->getType()->isPointerTy()) return;
    llvm::Type* type = key ? builder.getInt32Ty() : builder.getInt64Ty();
    tell(builder, *builder.CreateLoad(type, made->getArgOperand(place)), there, {PtwriteKind::handle});
  }

 private:
  // Null: there is no place for it without another block.
  static llvm::Instruction* behind_call(llvm::CallBase& call) {
    auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call);
    if (invoke == nullptr) return call.isTerminator() ? nullptr : call.getNextNode();
    llvm::BasicBlock* next = invoke->getNormalDest();
    return next->getSinglePredecessor() != nullptr ? &*next->getFirstInsertionPt() : nullptr;
  }

  void tell(llvm::IRBuilder<>& builder, llvm::Value& value, const llvm::Instruction& of, PtwriteSite site) {
    llvm::Type* type = value.getType();
    const llvm::DataLayout& layout = unit_.getParent()->getDataLayout();
    llvm::Value* bits = &value;
    if (type->isPointerTy())
      bits = builder.CreatePtrToInt(bits, word_);
    else if ((type->isFloatTy() || type->isDoubleTy()))
      bits = builder.CreateBitCast(
          bits, builder.getIntNTy(static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue())));
    else if (!type->isIntegerTy() || type->getIntegerBitWidth() > 64)
      return;
    if (bits->getType() != word_) bits = builder.CreateZExt(bits, word_);
    auto* kind = llvm::FunctionType::get(builder.getVoidTy(), {word_}, false);
    place(builder.CreateCall(llvm::InlineAsm::get(kind, "ptwriteq $0", "r", /*hasSideEffects=*/true), {bits}),
          of, site);
  }

  void thread_pointer(llvm::IRBuilder<>& builder, const llvm::Instruction& of) {
    auto* kind = llvm::FunctionType::get(word_, false);
    place(builder.CreateCall(
              llvm::InlineAsm::get(kind, "movq %fs:0, $0\n\tptwriteq $0", "=r", /*hasSideEffects=*/true)),
          of, {PtwriteKind::thread_pointer});
  }

  void place(llvm::Instruction* code, const llvm::Instruction& of, PtwriteSite site) {
    llvm::cast<llvm::CallInst>(code)->setDoesNotThrow();
    out_[code] = {&of, site};
  }

  llvm::Function& unit_;
  const llvm::Function& program_;
  const RecordPlan& plan_;
  PlacedPtwrites& out_;
  llvm::Type* word_;
  llvm::Instruction* begin_;  // what stands at the beginning of the function is put in before it, in this order
};

}  // namespace

void insert_ptwrites(llvm::Function& unit, const llvm::Function& program,
                     const llvm::DenseMap<llvm::Instruction*, const llvm::Instruction*>& in_program,
                     const RecordPlan& plan, PlacedPtwrites& out) {
  if (plan.function(program) == nullptr) return;
  forget_memory_attributes(unit);
  Writer writer(unit, program, plan, out);
  std::vector<std::pair<llvm::Instruction*, const llvm::Instruction*>> all;
  for (llvm::BasicBlock& block : unit)
    for (llvm::Instruction& instruction : block)
      if (const auto found = in_program.find(&instruction); found != in_program.end())
        all.emplace_back(&instruction, found->second);
  writer.entry();
  for (const auto& [here, there] : all) writer.instruction(*here, *there);
}

}  // namespace heddle
