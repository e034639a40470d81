#include "instrument/leap.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include "abi/leap.h"
#include "instrument/instrument.h"
#include "program/calls.h"
#include "program/pointer_flow.h"
#include "program/sharing.h"

namespace heddle {
namespace {

// Dense indexes for the classes of objects that are accessed.
class Locations {
 public:
  explicit Locations(PointerFlow& flow) : flow_(flow) {}

  uint32_t of(const llvm::Value* pointer) {
    const ClassId target = flow_.graph().region(flow_.target(pointer));
    return indexes_.try_emplace(target.value, static_cast<uint32_t>(indexes_.size())).first->second;
  }
  size_t count() const { return indexes_.size(); }

 private:
  PointerFlow& flow_;
  llvm::DenseMap<uint32_t, uint32_t> indexes_;
};

// Found before anything is changed: the locations of each access, and the object of each synchronisation call.
struct Places {
  llvm::MapVector<llvm::Instruction*, llvm::SmallVector<uint32_t, 2>> accesses;
  std::vector<std::pair<llvm::CallBase*, uint32_t>> calls;
};

Places find_places(const SharingResult& sharing, const EffectsTable& effects,
                   const std::vector<llvm::Function*>& functions, Locations& locations) {
  const llvm::DenseSet<const llvm::Function*> hooked(functions.begin(), functions.end());
  Places places;
  for (const Access& access : sharing.accesses)
    if (access.sharing == Sharing::shared && hooked.contains(access.instruction->getFunction()))
      places.accesses[const_cast<llvm::Instruction*>(access.instruction)].push_back(
          locations.of(access.pointer));
  for (llvm::Function* function : functions) {
    for (llvm::Instruction& instruction : llvm::instructions(*function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      const CallInfo info = classify_call(*call, effects);
      if (info.cls != CallClass::synchronisation || info.effects->sync_objects.empty()) continue;
      const llvm::Value* object = call->getArgOperand(static_cast<unsigned>(info.effects->sync_objects[0]));
      if (object->getType()->isPointerTy()) places.calls.emplace_back(call, locations.of(object));
    }
  }
  return places;
}

class Hooks {
 public:
  Hooks(llvm::Module& module, size_t locations) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* nothing = llvm::Type::getVoidTy(context);
    llvm::Type* pointer = llvm::PointerType::getUnqual(context);
    begin_ = module.getOrInsertFunction(HEDDLE_HOOK_LEAP_BEGIN, nothing, pointer);
    end_ = module.getOrInsertFunction(HEDDLE_HOOK_LEAP_END, nothing, pointer);
    llvm::Type* bytes =
        llvm::ArrayType::get(llvm::Type::getInt8Ty(context), locations * HEDDLE_LEAP_LOCATION_SIZE);
    locations_ = new llvm::GlobalVariable(module, bytes, false, llvm::GlobalValue::ExternalLinkage,
                                          llvm::ConstantAggregateZero::get(bytes), HEDDLE_LEAP_LOCATIONS);
    locations_->setAlignment(llvm::Align(HEDDLE_LEAP_LOCATION_SIZE));
    llvm::IntegerType* number = llvm::Type::getInt32Ty(context);
    new llvm::GlobalVariable(module, number, true, llvm::GlobalValue::ExternalLinkage,
                             llvm::ConstantInt::get(number, locations), HEDDLE_LEAP_LOCATION_COUNT);
  }

  void begin(llvm::IRBuilder<>& builder, uint32_t location) { call(builder, begin_, location); }
  void end(llvm::IRBuilder<>& builder, uint32_t location) { call(builder, end_, location); }

 private:
  void call(llvm::IRBuilder<>& builder, const llvm::FunctionCallee& hook, uint32_t location) {
    llvm::Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), locations_,
                                                         uint64_t{location} * HEDDLE_LEAP_LOCATION_SIZE);
    builder.CreateCall(hook, {at});
  }

  llvm::FunctionCallee begin_, end_;
  llvm::GlobalVariable* locations_;
};

}  // namespace

Result<void> instrument_leap(const Program& program, llvm::Module& module) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  return instrument_leap(program, module, effects);
}

Result<void> instrument_leap(const Program& program, llvm::Module& module, const EffectsTable& effects) {
  const SharingOptions options = {.foreign_callers = program.has_foreign_callers()};
  const SharingResult sharing = analyse_sharing(module, effects, options);
  PointerFlow flow(module, effects, options);
  flow.run();
  Locations locations(flow);
  const std::vector<llvm::Function*> functions = instrumentable_functions(module);
  Places places = find_places(sharing, effects, functions, locations);
  Hooks hooks(module, locations.count());
  for (auto& [instruction, of_one] : places.accesses) {
    // Ascending and each once, so that two threads never wait for each other.
    llvm::sort(of_one);
    of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
    llvm::IRBuilder<> before(instruction);
    before.SetCurrentDebugLocation(hook_location(*instruction));
    for (const uint32_t location : of_one) hooks.begin(before, location);
    llvm::IRBuilder<> after(instruction->getNextNode());
    after.SetCurrentDebugLocation(hook_location(*instruction));
    for (const uint32_t location : llvm::reverse(of_one)) hooks.end(after, location);
  }
  for (const auto& [call, location] : places.calls) {
    // Of a call that may throw: where it returns. Its order among the calls on this object is that of the
    // returns.
    llvm::Instruction* next = llvm::isa<llvm::InvokeInst>(call)
                                  ? &*llvm::cast<llvm::InvokeInst>(call)->getNormalDest()->getFirstInsertionPt()
                                  : call->getNextNode();
    if (next == nullptr || call->isMustTailCall()) continue;
    llvm::IRBuilder<> after(next);
    after.SetCurrentDebugLocation(hook_location(*call));
    hooks.begin(after, location);
    hooks.end(after, location);
  }
  for (llvm::Function* function : functions) {
    forget_memory_attributes(*function);
    for (llvm::Instruction& instruction : llvm::instructions(*function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) forget_memory_attributes(*call);
  }
  return verify_instrumented(module, "leap");
}

}  // namespace heddle
