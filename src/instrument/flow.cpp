#include "instrument/flow.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/clear_frames.h"
#include "instrument/control_calls.h"
#include "instrument/control_hooks.h"
#include "instrument/control_ranges.h"
#include "instrument/flow_accesses.h"
#include "instrument/flow_calls.h"
#include "instrument/instrument.h"
#include "instrument/machine_values.h"
#include "program/calls.h"
#include "program/library_models.h"
#include "program/sharing.h"

namespace heddle {
namespace {

// How many bytes an access of another kind touches: at most, from its pointer.
llvm::Value* bytes_of(HookEmitter& emit, const Access& access) {
  if (access.size != 0) return emit.size(access.size);
  if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(access.instruction))
    return emit.builder().CreateZExtOrTrunc(memory->getLength(), emit.builder().getInt64Ty());
  return emit.size(64);
}

class FlowInstrumentation {
 public:
  FlowInstrumentation(const Program& program, llvm::Module& module, const EffectsTable& effects)
      : program_(program),
        module_(module),
        effects_(effects),
        sharing_(analyse_sharing(module, effects, {.foreign_callers = program.has_foreign_callers()})) {}

  void apply() {
    const std::vector<llvm::Function*> functions = instrumentable_functions(module_);
    const llvm::DenseSet<const llvm::Function*> hooked(functions.begin(), functions.end());
    FlowAccesses accesses;
    for (const Access& access : sharing_.accesses)
      if (access.sharing == Sharing::shared && !access.settled &&
          hooked.contains(access.instruction->getFunction()))
        accesses[const_cast<llvm::Instruction*>(access.instruction)].push_back(
            {access, llvm::WeakTrackingVH(const_cast<llvm::Value*>(access.pointer))});
    std::vector<llvm::CallBase*> calls, asking;
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Function* function : functions) llvm::append_range(variables, unset_variables(*function));
    for (llvm::Function* function : functions)
      for (llvm::Instruction& instruction : llvm::instructions(*function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr) continue;
        if (!llvm::isa<llvm::IntrinsicInst>(call)) calls.push_back(call);
        if (asks_the_machine(*call)) asking.push_back(call);
      }
    const ControlHooks ranges(module_);
    const FlowHooks hooks(module_);
    add_calls(calls, ranges, hooks);
    for (llvm::CallBase* call : asking)
      replace_machine_values(*call, [&](llvm::IRBuilder<>& builder, llvm::Value* said, MachineValue) {
        return hooks.told(builder, said);
      });
    for (auto& [instruction, of_one] : accesses)
      if (!is_inline_access(*instruction)) add_access(*instruction, of_one, ranges, hooks);
    for (llvm::Function* function : functions) add_flow_accesses(*function, accesses, program_, hooks);
    for (llvm::Function* function : functions) forget_memory_attributes(*function);
    for (llvm::CallBase* call : calls) forget_memory_attributes(*call);
    clear_frames(variables);
    hide_copies();
  }

 private:
  // Programs have copies of functions that the C++ library has too (templates), and the linker makes the
  // library use those of the program. That is within a call of the library, whose event is open: it is to use
  // its own.
  void hide_copies() {
    static constexpr llvm::StringLiteral kLibrary[] = {"_ZNS", "_ZNKS", "_ZS", "_ZN9__gnu_cxx",
                                                       "_ZNK9__gnu_cxx"};
    for (llvm::Function& function : module_)
      if (!function.isDeclaration() && (function.hasLinkOnceLinkage() || function.hasWeakLinkage()) &&
          llvm::any_of(kLibrary,
                       [&](llvm::StringRef prefix) { return function.getName().starts_with(prefix); }))
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }

  void add_access(llvm::Instruction& instruction, llvm::ArrayRef<HookedAccess> of_one,
                  const ControlHooks& ranges, const FlowHooks& hooks) {
    llvm::Value* pointer = of_one[0].pointer;
    if (pointer->getType()->getScalarType()->getPointerAddressSpace() != 0) return;
    HookEmitter emit(program_, ranges, instruction);
    emit.note_site();
    for (const HookedAccess& access : of_one) add_ranges(emit, access.access, access.pointer);
    hooks.begin(emit.builder(), FlowInside::plain);
    llvm::IRBuilder<> after(instruction.getNextNode());
    after.SetCurrentDebugLocation(hook_location(instruction));
    hooks.end(after, FlowInside::plain);
  }

  // Gather and scatter: a range for each lane (16 at most: the rest is left out).
  void add_ranges(HookEmitter& emit, const Access& access, llvm::Value* pointer) {
    const bool writes = access.kind != AccessKind::read;
    const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(pointer->getType());
    if (lanes == nullptr) return emit.range(pointer, bytes_of(emit, access), nullptr, writes);
    for (unsigned i = 0; i < lanes->getNumElements(); ++i)
      emit.range(emit.builder().CreateExtractElement(pointer, i), emit.size(8), nullptr, writes);
  }

  void add_calls(llvm::ArrayRef<llvm::CallBase*> calls, const ControlHooks& ranges, const FlowHooks& hooks) {
    llvm::DenseMap<const llvm::CallBase*, std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < sharing_.argument_accesses.size(); ++i)
      ++places.try_emplace(sharing_.argument_accesses[i].call, i, 0).first->second.second;
    for (llvm::CallBase* call : calls) {
      const auto [first, number] = places.lookup(call);
      add_call(*call, llvm::ArrayRef(sharing_.argument_accesses).slice(first, number), ranges, hooks);
      // Closest to the call: handlers of signals, which may allocate too, run in the hooks around it.
      if (sharing_.private_allocations.contains(call) && !call->isMustTailCall()) hooks.allocate_private(*call);
    }
  }

  void add_call(llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments, const ControlHooks& ranges,
                const FlowHooks& hooks) {
    HookEmitter emit(program_, ranges, call);
    if (call.isInlineAsm()) {
      if (!assembly_touches_memory(call)) return;
      emit_library_state(emit);
      add_operands(emit, call);
      forget_site(emit, ranges);
      hooks.begin(emit.builder(), FlowInside::anything);
      return end_behind(call, hooks, FlowInside::anything);
    }
    const CallInfo info = classify_call(call, effects_);
    const FlowCall how = flow_call(info);
    if (leaves_program(info)) emit.note_site();
    add_by_value(emit, call, arguments, hooks);
    if (how == FlowCall::none) return;
    const bool returns = !call.isMustTailCall() && !call.doesNotReturn();
    const bool inside_event = (how == FlowCall::inside || how == FlowCall::state) && returns;
    if (inside_event) add_lock(emit, call, info, arguments, ranges, hooks);
    const bool held = inside_event && !may_call_back(info);
    const bool ranges_given = info.effects != nullptr && emit_ranges(emit, call, arguments).any;
    if (how == FlowCall::state || how == FlowCall::before) emit_library_state(emit);
    if (how == FlowCall::inside && !ranges_given) return;
    if (ranges_given)
      emit.note_site();
    else
      forget_site(emit, ranges);
    const FlowInside inside = held && ranges_given ? flow_inside(info) : FlowInside::anything;
    hooks.begin(emit.builder(), inside);
    if (held) return end_behind(call, hooks, inside);
    hooks.end(emit.builder(), inside);
    emit.note_site();
    if (inside_event) add_event_behind(call, arguments, ranges, hooks);
  }

  // Not functions, labels and null.
  static bool may_lead_to_memory(llvm::Value* pointer) {
    return !llvm::isa<llvm::Constant>(pointer) ||
           llvm::isa<llvm::GlobalVariable>(pointer->stripInBoundsConstantOffsets());
  }

  // What inline assembly is given: memory, or pointers, behind which it may access some bytes.
  static void add_operands(HookEmitter& emit, const llvm::CallBase& call) {
    const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
    const llvm::DataLayout& layout = call.getDataLayout();
    unsigned argument = 0;
    for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints()) {
      if (!constraint.hasArg()) continue;
      const unsigned i = argument++;
      llvm::Value* pointer = call.getArgOperand(i);
      if (constraint.isIndirect)
        emit.range(pointer, emit.size(layout.getTypeStoreSize(call.getParamElementType(i))), nullptr,
                   constraint.Type == llvm::InlineAsm::isOutput);
      else if (pointer->getType()->isPointerTy() && may_lead_to_memory(pointer))
        emit.range(pointer, emit.size(8), nullptr, true);
    }
  }

  // Of a call that has no event around it: what it wrote.
  void add_event_behind(llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments,
                        const ControlHooks& ranges, const FlowHooks& hooks) {
    llvm::DenseSet<const llvm::BasicBlock*> pads;
    HookEmitter emit(program_, ranges, call);
    emit.builder().SetInsertPoint(places_behind(call, pads).front());
    llvm::SmallVector<ArgumentAccess, 2> written;
    llvm::copy_if(arguments, std::back_inserter(written), [](const ArgumentAccess& access) {
      return access.effect != nullptr && access.effect->writes &&
             access.effect->extent.kind != Extent::Kind::object;
    });
    if (!emit_ranges(emit, call, written).any) return;
    forget_site(emit, ranges);
    hooks.begin(emit.builder(), FlowInside::anything);
    hooks.end(emit.builder(), FlowInside::anything);
  }

  // What the library itself made has a lock of the runtime's (runtime/flow/streams.c). It is held outside of
  // the event of the call: what stands behind the call is put there later, and so comes before.
  void add_lock(HookEmitter& emit, llvm::CallBase& call, const CallInfo& info,
                llvm::ArrayRef<ArgumentAccess> arguments, const ControlHooks& ranges, const FlowHooks& hooks) {
    llvm::Value* object = object_of_library(emit, call, info, arguments);
    if (object == nullptr) return;
    forget_site(emit, ranges);
    hooks.lock(emit.builder(), object);
    emit.note_site();
    for (llvm::Instruction* place : places_behind(call, unlocked_)) {
      llvm::IRBuilder<> builder(place);
      builder.SetCurrentDebugLocation(hook_location(call));
      if (place->getParent()->isLandingPad()) hooks.end(builder, FlowInside::anything);
      hooks.unlock(builder);
    }
  }

  // C++ streams, if the program has a class of buffers for them: no event may be open around such a call.
  bool may_call_back(const CallInfo& info) const { return has_stream_buffers_ && calls_stream_buffer(info); }

  llvm::Value* object_of_library(HookEmitter& emit, llvm::CallBase& call, const CallInfo& info,
                                 llvm::ArrayRef<ArgumentAccess> arguments) {
    const LibraryObject object = library_object(info);
    if (object == LibraryObject::databases) return state("heddle_flow_databases");
    if (object != LibraryObject::none) {
      llvm::Type* pointer = emit.builder().getPtrTy();
      const char* name = object == LibraryObject::input    ? "stdin"
                         : object == LibraryObject::output ? "stdout"
                                                           : "stderr";
      return emit.builder().CreateLoad(pointer, module_.getOrInsertGlobal(name, pointer));
    }
    if (info.effects == nullptr || info.effects->pure) return nullptr;
    for (const ArgumentAccess& access : arguments)
      if ((access.foreign || may_call_back(info)) && access.sharing == Sharing::shared &&
          access.effect != nullptr && access.effect->extent.kind == Extent::Kind::object)
        return call.getArgOperand(access.argument);
    return nullptr;
  }

  // The event has no name: a controlled run has none there.
  static void forget_site(HookEmitter& emit, const ControlHooks& hooks) {
    emit.builder().CreateStore(emit.builder().getInt32(HEDDLE_NO_SITE), hooks.site);
  }

  // What the program's code copies for the callee.
  void add_by_value(HookEmitter& emit, const llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments,
                    const FlowHooks& hooks) {
    bool any = false;
    for (const ArgumentAccess& access : arguments) {
      if (access.effect != nullptr || access.sharing != Sharing::shared) continue;
      const uint64_t size = module_.getDataLayout().getTypeAllocSize(call.getParamByValType(access.argument));
      emit.range(call.getArgOperand(access.argument), emit.size(size), nullptr, false);
      any = true;
    }
    if (!any) return;
    emit.note_site();
    hooks.begin(emit.builder(), FlowInside::anything);
    hooks.end(emit.builder(), FlowInside::anything);
  }

  // What stands for the state of libraries that the effects table does not name.
  void emit_library_state(HookEmitter& emit) {
    emit.range(state("heddle_flow_library"), emit.size(8), nullptr, true);
  }

  llvm::GlobalVariable* state(const char* name) {
    if (llvm::GlobalVariable* there = module_.getNamedGlobal(name)) return there;
    llvm::Type* word = llvm::Type::getInt64Ty(module_.getContext());
    auto* made = new llvm::GlobalVariable(module_, word, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::ConstantInt::get(word, 0), name);
    made->setAlignment(llvm::Align(64));
    return made;
  }

  void end_behind(llvm::CallBase& call, const FlowHooks& hooks, FlowInside inside) {
    for (llvm::Instruction* place : places_behind(call, ended_)) {
      llvm::IRBuilder<> builder(place);
      builder.SetCurrentDebugLocation(hook_location(call));
      hooks.end(builder, inside);
    }
  }

  // Where the program goes on; where an exception leads to, once for all calls that it may come from.
  static llvm::SmallVector<llvm::Instruction*, 2> places_behind(llvm::CallBase& call,
                                                                llvm::DenseSet<const llvm::BasicBlock*>& pads) {
    llvm::SmallVector<llvm::Instruction*, 2> places;
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
      llvm::BasicBlock* next = invoke->getNormalDest();
      if (next->getSinglePredecessor() == nullptr) next = llvm::SplitEdge(invoke->getParent(), next);
      places.push_back(&*next->getFirstInsertionPt());
      llvm::BasicBlock* pad = invoke->getUnwindDest();
      if (pads.insert(pad).second && pad->isLandingPad()) places.push_back(&*pad->getFirstInsertionPt());
    } else if (call.getNextNode() != nullptr) {
      places.push_back(call.getNextNode());
    }
    return places;
  }

  const Program& program_;
  llvm::Module& module_;
  const EffectsTable& effects_;
  SharingResult sharing_;
  const bool has_stream_buffers_ = has_stream_buffers(module_);
  llvm::DenseSet<const llvm::BasicBlock*> ended_, unlocked_;
};

}  // namespace

Result<void> instrument_flow(const Program& program, llvm::Module& module) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  return instrument_flow(program, module, effects);
}

Result<void> instrument_flow(const Program& program, llvm::Module& module, const EffectsTable& effects) {
  if (const std::string name = HEDDLE_TRY(openmp_without_model(module)); !name.empty())
    return Error{
        .what = "the program uses a part of OpenMP that flow recording cannot follow",
        .where = name,
        .why =
            "heddle has no model of this function, and threads of OpenMP's own library wait for each other "
            "by memory that is not recorded: a replay would diverge",
        .next = "leave that part out, or build the program without -fopenmp"};
  FlowInstrumentation(program, module, effects).apply();
  return verify_instrumented(module, "flow");
}

}  // namespace heddle
