#include "instrument/record.h"

#include <fmt/core.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/TargetParser/Host.h>

#include "abi/hooks.h"
#include "instrument/control.h"
#include "instrument/instrument.h"
#include "instrument/record_calls.h"
#include "instrument/record_entries.h"
#include "instrument/record_log.h"
#include "instrument/record_paths.h"
#include "program/effects.h"
#include "program/promises.h"

namespace heddle {
namespace {

// Everything of the module that gets code, found before anything is changed.
struct Work {
  std::vector<std::pair<llvm::Function*, const FunctionPlan*>> functions;
  std::vector<llvm::CallBase*> calls;
  std::vector<std::pair<llvm::Instruction*, unsigned>> values;  // to be logged, with their bytes
  std::vector<std::pair<llvm::BasicBlock*, BlockId>> blocks;
  std::vector<std::pair<llvm::Function*, std::vector<LoggedValue>>> stack_objects;  // static ones, to be logged
};

Work find_work(const Program& program, const RecordPlan& plan, llvm::Module& module) {
  Work work;
  for (llvm::Function& function : module) {
    const FunctionPlan* of_function = plan.function(function);
    if (of_function == nullptr) continue;
    work.functions.emplace_back(&function, of_function);
    for (llvm::BasicBlock& block : function) work.blocks.emplace_back(&block, program.id_of(block));
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) work.calls.push_back(call);
      const unsigned bytes = plan.logged(instruction);
      if (bytes == 0) continue;
      auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (object != nullptr && object->isStaticAlloca()) {
        if (work.stack_objects.empty() || work.stack_objects.back().first != &function)
          work.stack_objects.emplace_back(&function, std::vector<LoggedValue>());
        work.stack_objects.back().second.push_back({object, bytes});
      } else {
        work.values.emplace_back(&instruction, bytes);
      }
    }
  }
  return work;
}

// Direct calls by another name of the function (an alias) mean its code, not its entry.
void call_directly(llvm::CallBase& call, const CallPlan& plan) {
  if (plan.kind == CallPlan::Kind::inside) call.setCalledOperand(const_cast<llvm::Function*>(plan.info.callee));
}

// So that they have symbols, by which whoever reads the recording finds their addresses.
void name_variables(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.hasPrivateLinkage()) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
}

// Static allocas must stay in the entry block, which the code that logs them splits.
void tell_addresses(const RecordHooks& hooks, llvm::Function& function,
                    const std::vector<LoggedValue>& objects) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::Instruction* behind = &*entry.getFirstNonPHIOrDbgOrAlloca();
  for (const LoggedValue& each : objects) llvm::cast<llvm::AllocaInst>(each.value)->moveBefore(behind);
  LogEmitter(hooks, *behind).append(objects);
}

// Shifts by a variable and counting zeros are slow in the instructions that every x86-64 has. A variant runs
// where it is made, so it may use better ones; they cannot change what the program computes.
void use_bit_instructions(llvm::Function& function) {
  static const std::string wanted = [] {
    const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    std::string out;
    for (const char* feature : {"lzcnt", "bmi", "bmi2"})
      if (host.lookup(feature)) out += fmt::format("{}+{}", out.empty() ? "" : ",", feature);
    return out;
  }();
  if (wanted.empty()) return;
  const llvm::StringRef given = function.getFnAttribute("target-features").getValueAsString();
  function.addFnAttr("target-features", given.empty() ? wanted : fmt::format("{},{}", given.str(), wanted));
}

// Buffered stores are carried out before every call that leaves the program: it may free or unmap what they go
// to.
void drain_before(llvm::CallBase& call, const CallPlan& plan) {
  if (plan.kind == CallPlan::Kind::inside || plan.info.cls == CallClass::intrinsic || call.isInlineAsm())
    return;
  llvm::IRBuilder<> builder(&call);
  builder.SetCurrentDebugLocation(hook_location(call));
  const llvm::FunctionCallee leave =
      call.getModule()->getOrInsertFunction(HEDDLE_HOOK_LEAVE, builder.getVoidTy(), builder.getPtrTy());
  builder.CreateCall(leave, {llvm::ConstantPointerNull::get(builder.getPtrTy())});
}

void add_chaos(const RecordPlan& plan, const RecordHooks& hooks, llvm::Module& module) {
  const llvm::Instruction* last = nullptr;
  uint32_t places = 0;
  for (const Access& access : plan.sharing().accesses) {
    if (access.sharing != Sharing::shared || access.instruction == last) continue;
    last = access.instruction;
    if (plan.function(*last->getFunction()) == nullptr) continue;
    LogEmitter(hooks, const_cast<llvm::Instruction&>(*last)).count_down_to_chaos();
    ++places;
  }
  llvm::Type* number = llvm::Type::getInt32Ty(module.getContext());
  new llvm::GlobalVariable(module, number, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantInt::get(number, places), HEDDLE_CHAOS_PLACES);
}

}  // namespace

Result<void> instrument_record(const Program& program, llvm::Module& module, const RecordOptions& options) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  const RecordPlan plan(program, module, effects, options.policy);
  const Work work = find_work(program, plan, module);
  std::optional<ControlInstrumentation> buffers;
  if (options.buffers) buffers.emplace(program, module, effects);
  const RecordHooks hooks(module);
  name_variables(module);

  // Before the other hooks, which so come to stand in front of it: a killed thread may then have told of one
  // block too many, but of none too few.
  if (options.blocks) {
    for (const auto& [block, id] : work.blocks) {
      LogEmitter at(hooks, *block->getFirstInsertionPt());
      at.builder().CreateCall(hooks.block, {at.builder().getInt32(id.value)});
    }
  }
  // Under the policy clap nothing is computed by the reader.
  if (options.policy != RecordPolicy::clap) drop_promises(module, plan.known());
  for (llvm::CallBase* call : work.calls) {
    call_directly(*call, plan.call(*call));
    forget_memory_attributes(*call);
  }
  for (const auto& [function, of_function] : work.functions) {
    forget_memory_attributes(*function);
    use_bit_instructions(*function);
    const std::vector<llvm::InvokeInst*> landings = split_landings(*function);
    const PathLabels labels{.wanted = options.policy == RecordPolicy::clap,
                            .label = program.id_of(*function).value};
    instrument_paths(hooks, *of_function, labels, *function);
    add_landings(program, hooks, landings);
  }
  if (options.chaos) add_chaos(plan, hooks, module);
  CallRecorder calls(program, plan, hooks, module);
  for (const auto& [value, bytes] : work.values) calls.add_value(*value, bytes);
  for (const auto& [function, objects] : work.stack_objects) tell_addresses(hooks, *function, objects);
  for (llvm::CallBase* call : work.calls) calls.add(*call);
  if (buffers) {
    buffers->apply();
    for (llvm::CallBase* call : work.calls) drain_before(*call, plan.call(*call));
  }
  for (const auto& [function, of_function] : work.functions)
    if (of_function->entered_from_outside) add_entry(program, hooks, *of_function, *function);
  return verify_instrumented(module, "record");
}

}  // namespace heddle
