#include "instrument/control.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "abi/hooks.h"
#include "instrument/control_accesses.h"
#include "instrument/control_calls.h"
#include "instrument/instrument.h"
#include "instrument/machine_values.h"
#include "program/sharing.h"

namespace heddle {
namespace {

Result<void> rename_main(const Program& program, llvm::Module& module) {
  llvm::GlobalValue* main = module.getNamedValue("main");  // a function, or an alias of one
  if (main == nullptr || main->isDeclarationForLinker())
    return Error{.what = "main() is not in a part compiled with heddle cc",
                 .where = program.binary(),
                 .why = "controlled runs begin at main(): heddle has to give it another name",
                 .next = "compile the file with main() with heddle cc or heddle c++ too, then link again"};
  main->setName(HEDDLE_CONTROL_MAIN);
  HEDDLE_CHECK(main->getName() == HEDDLE_CONTROL_MAIN);
  main->setLinkage(llvm::GlobalValue::ExternalLinkage);
  main->setVisibility(llvm::GlobalValue::DefaultVisibility);
  if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(main)) object->setComdat(nullptr);
  return {};
}

// A function that the runtime defines as well (a program's own malloc) is the runtime's, for the program too:
// calls go by the name, which the linker gives to the runtime.
void call_by_name(llvm::Function& function) {
  if (!function.hasLocalLinkage() && function.hasDefaultVisibility()) function.setDSOLocal(false);
}

// Code generation lets objects whose lives do not overlap share a place in the frame: a store to one that is
// still buffered would then reach another. So all of them live as long as the frame.
void keep_objects_apart(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call != nullptr && call->isLifetimeStartOrEnd())
      call->eraseFromParent();
}

// Code without hooks that is linked into the executable (a static library, another compiler's object) looks to
// the runtime like the program. What it calls of the program are functions whose addresses it was given, and
// inline functions that it has too, of which the linker keeps one.
//
// Known hole: ordinary functions that it calls by name. Stores may still be buffered when it goes on, and it
// then reads what was there before them. To make them visible at the end of every function would hide most of
// what TSO and PSO are about.
bool may_return_outside(const Program& program, const llvm::Function& function) {
  const bool any = !program.foreign_functions_known() || !program.foreign_functions().empty();
  return any && (function.hasAddressTaken() || function.hasLinkOnceLinkage() || function.hasWeakLinkage());
}

// Stores that are buffered when their frame ends must not reach whatever comes to lie there next, and code of a
// library that called the function must see the others.
void add_frame_ends(const Program& program, const ControlHooks& hooks, llvm::Function& function) {
  llvm::Module& module = *function.getParent();
  const bool outside = may_return_outside(program, function);
  const auto end_before = [&](llvm::Instruction& at, bool returning) {
    llvm::IRBuilder<> builder(&at);
    builder.SetCurrentDebugLocation(hook_location(at));
    llvm::Value* limit = llvm::ConstantPointerNull::get(builder.getPtrTy());
    if (returning) {
      llvm::Function* intrinsic = llvm::Intrinsic::getDeclaration(
          &module, llvm::Intrinsic::addressofreturnaddress, {builder.getPtrTy()});
      limit = builder.CreateCall(intrinsic);
    }
    builder.CreateCall(hooks.frame_end, {limit});
    if (returning && outside)
      builder.CreateCall(hooks.leave, {llvm::ConstantPointerNull::get(builder.getPtrTy())});
  };
  for (llvm::BasicBlock& block : function) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
      llvm::CallInst* last = block.getTerminatingMustTailCall();
      end_before(last != nullptr ? *last : *block.getTerminator(), true);
    }
    if (block.isLandingPad()) end_before(*block.getFirstInsertionPt(), false);
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->canReturnTwice()) end_before(*instruction.getNextNode(), false);
    }
  }
}

// So that a schedule gives the same run again.
void answer_by_the_schedule(llvm::CallBase& call, const ControlHooks& hooks) {
  llvm::Value* now = nullptr;
  const auto clock = [&](llvm::IRBuilder<>& builder) {
    if (now == nullptr) now = builder.CreateCall(hooks.clock);
    return now;
  };
  replace_machine_values(call,
                         [&](llvm::IRBuilder<>& builder, llvm::Value*, MachineValue what) -> llvm::Value* {
                           switch (what) {
                             case MachineValue::clock:
                               return clock(builder);
                             case MachineValue::clock_low:
                               return builder.CreateAnd(clock(builder), builder.getInt64(UINT32_MAX));
                             case MachineValue::clock_high:
                               return builder.CreateLShr(clock(builder), 32);
                             case MachineValue::chance:
                               return builder.CreateCall(hooks.chance);
                             case MachineValue::success:
                               return builder.getInt64(1);
                             case MachineValue::processor:
                               return builder.getInt64(0);
                             case MachineValue::description:
                               break;
                           }
                           return nullptr;
                         });
}

}  // namespace

ControlInstrumentation::ControlInstrumentation(const Program& program, llvm::Module& module,
                                               const EffectsTable& effects)
    : program_(program),
      module_(module),
      effects_(effects),
      sharing_(analyse_sharing(module, effects, {.foreign_callers = program.has_foreign_callers()})) {
  find_work();
}

void ControlInstrumentation::find_work() {
  for (llvm::Function* function : instrumentable_functions(module_)) {
    if (function->isDeclarationForLinker()) continue;  // the code that runs is outside
    work_.functions.push_back(function);
    for (llvm::Instruction& instruction : llvm::instructions(*function)) {
      if (const auto order = fence_ordering(instruction))
        work_.fences.emplace_back(&instruction, hook_order(*order, llvm::SyncScope::System));
      else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        work_.calls.push_back(call);
    }
  }
}

void ControlInstrumentation::apply() {
  const ControlHooks hooks(module_);
  add_access_hooks(hooks);
  for (const auto& [fence, order] : work_.fences) HookEmitter(program_, hooks, *fence).fence(order);
  add_call_hooks(hooks);
  for (llvm::CallBase* call : work_.calls)
    if (asks_the_machine(*call)) answer_by_the_schedule(*call, hooks);
  for (llvm::Function* function : work_.functions) {
    keep_objects_apart(*function);
    add_frame_ends(program_, hooks, *function);
    forget_memory_attributes(*function);
  }
}

void ControlInstrumentation::add_access_hooks(const ControlHooks& hooks) {
  const llvm::DenseSet<const llvm::Function*> functions(work_.functions.begin(), work_.functions.end());
  AccessHooks out(program_, hooks);
  std::vector<Access> of_one;
  const auto finish = [&] {
    if (!of_one.empty()) out.add(of_one);
    of_one.clear();
  };
  for (const Access& access : sharing_.accesses) {
    if (!functions.contains(access.instruction->getFunction())) continue;
    if (access.lent) out.add_lent(access);
    if (access.sharing != Sharing::shared) continue;
    if (!of_one.empty() && of_one[0].instruction != access.instruction) finish();
    of_one.push_back(access);
  }
  finish();
}

void ControlInstrumentation::add_call_hooks(const ControlHooks& hooks) {
  CallHooks out(program_, hooks, effects_);
  llvm::DenseMap<const llvm::CallBase*, std::pair<size_t, size_t>> places;  // first, number
  for (size_t i = 0; i < sharing_.argument_accesses.size(); ++i)
    ++places.try_emplace(sharing_.argument_accesses[i].call, i, 0).first->second.second;
  for (llvm::CallBase* call : work_.calls) {
    const auto [first, number] = places.lookup(call);
    out.add(*call, llvm::ArrayRef(sharing_.argument_accesses).slice(first, number));
    forget_memory_attributes(*call);
  }
}

Result<void> instrument_control(const Program& program, llvm::Module& module) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  return instrument_control(program, module, effects);
}

Result<void> instrument_control(const Program& program, llvm::Module& module, const EffectsTable& effects) {
  ControlInstrumentation hooks(program, module, effects);
  HEDDLE_TRY(rename_main(program, module));
  hooks.apply();
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) call_by_name(function);
  return verify_instrumented(module, "control");
}

}  // namespace heddle
