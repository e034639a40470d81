#include "instrument/control_calls.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/control_ranges.h"

namespace heddle {
namespace {

// Calls that may wait for something outside, but which the runtime performs itself.
bool is_controlled(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      "read",        "recv",   "recvfrom",  "recvmsg",         "accept",     "accept4",
      "poll",        "ppoll",  "select",    "pselect",         "sleep",      "epoll_wait",
      "epoll_pwait", "usleep", "nanosleep", "clock_nanosleep", "sched_yield"};
  return names.contains(name);
}

// strdup reads a string of the program; what realloc and free do is the runtime's own event.
bool has_own_event(const CallInfo& info) {
  return info.cls == CallClass::synchronisation ||
         (info.cls == CallClass::allocation && info.effects->allocation != AllocationKind::allocate);
}

// Code that heddle does not see and whose effects it does not know, before the runtime comes to see the call:
// the C++ library around the pthread functions that the runtime defines.
bool reads_unseen(const CallInfo& info) {
  switch (info.cls) {
    case CallClass::unknown_external:
    case CallClass::indirect:
      return true;
    case CallClass::synchronisation:
      return info.callee->getName().starts_with("_Z");
    default:
      return false;
  }
}

// Where to: null is outside for sure. That the callee is linked into the executable says nothing, it may be of
// a static library or an object that heddle has no model of.
llvm::Value* left_for(const llvm::CallBase& call, const CallInfo& info) {
  llvm::Value* target = call.getCalledOperand();
  const bool maybe_inside = info.cls == CallClass::indirect || info.cls == CallClass::inside;
  return maybe_inside ? target : llvm::Constant::getNullValue(target->getType());
}

bool is_hint(llvm::StringRef instruction) {
  return instruction.empty() || instruction.equals_insensitive("pause") ||
         instruction.equals_insensitive("nop") || instruction.equals_insensitive("rep") ||
         instruction.equals_insensitive("rep nop");
}

bool does_nothing(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> lines;
  text.split(lines, '\n');
  return llvm::all_of(lines, [](llvm::StringRef line) {
    llvm::SmallVector<llvm::StringRef, 4> instructions;
    line.split('#').first.split(instructions, ';');
    return llvm::all_of(instructions, [](llvm::StringRef instruction) { return is_hint(instruction.trim()); });
  });
}

// One move from its only argument, which is in memory, to a register.
bool assembly_only_loads(const llvm::CallBase& call) {
  const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  const llvm::StringRef text = assembly->getAsmString();
  if (!text.trim().starts_with_insensitive("mov") || text.find_first_of("\n;(%[") != llvm::StringRef::npos)
    return false;
  unsigned outputs = 0, inputs = 0;
  for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints()) {
    if (constraint.Type == llvm::InlineAsm::isClobber) continue;
    const bool is_output = constraint.Type == llvm::InlineAsm::isOutput;
    if (constraint.isIndirect == is_output) return false;
    ++(is_output ? outputs : inputs);
  }
  return outputs == 1 && inputs == 1 && call.getParamElementType(0) != nullptr;
}

}  // namespace

bool leaves_program(const CallInfo& info) {
  switch (info.cls) {
    case CallClass::synchronisation:
    case CallClass::allocation:
    case CallClass::unknown_external:
    case CallClass::indirect:
      return true;
    case CallClass::known_external:
      return !info.effects->pure || !info.effects->calls.empty();
    case CallClass::inside:
    case CallClass::intrinsic:
    case CallClass::inline_assembly:
      return false;
  }
  return false;
}

bool assembly_touches_memory(const llvm::CallBase& call) {
  const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  if (!call.mayReadOrWriteMemory() || does_nothing(assembly->getAsmString())) return false;
  // Volatile assembly "may touch memory" for the optimiser even when it is given none (rdtsc, cpuid).
  for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints())
    if (constraint.isIndirect || llvm::is_contained(constraint.Codes, "{memory}")) return true;
  return llvm::any_of(call.args(), [](const llvm::Use& use) { return use->getType()->isPointerTy(); });
}

void CallHooks::add(llvm::CallBase& call, llvm::ArrayRef<ArgumentAccess> arguments) {
  if (llvm::isa<llvm::IntrinsicInst>(call)) return;
  HookEmitter emit(program_, hooks_, call);
  if (call.isInlineAsm()) {
    if (!assembly_touches_memory(call)) return;
    if (!assembly_only_loads(call)) return emit.assembly();
    const llvm::DataLayout& layout = call.getModule()->getDataLayout();
    return emit.assembly_load(call.getArgOperand(0),
                              emit.size(layout.getTypeStoreSize(call.getParamElementType(0))));
  }
  const CallInfo info = classify_call(call, effects_);
  add_by_value(emit, call, arguments);
  bool unseen = reads_unseen(info);
  if (info.effects != nullptr && !has_own_event(info)) {
    const EmittedRanges ranges = emit_ranges(emit, call, arguments);
    if (ranges.any) emit.call();
    unseen |= ranges.left_out;
  }
  if (leaves_program(info)) emit.note_site();
  if (unseen || llvm::any_of(arguments, [](const ArgumentAccess& access) { return access.lent; }))
    emit.leave(left_for(call, info));
  if (info.cls == CallClass::known_external && info.effects->blocks && !is_controlled(info.callee->getName()))
    add_blocking(emit, call, info);
}

void CallHooks::add_by_value(HookEmitter& emit, const llvm::CallBase& call,
                             llvm::ArrayRef<ArgumentAccess> arguments) {
  llvm::SmallVector<unsigned, 4> copied;
  for (const ArgumentAccess& access : arguments)
    if (access.effect == nullptr && access.sharing == Sharing::shared) copied.push_back(access.argument);
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  const auto size = [&](unsigned i) { return emit.size(layout.getTypeAllocSize(call.getParamByValType(i))); };
  for (const ArgumentAccess& access : arguments)
    if (access.effect == nullptr && access.lent)
      emit.own(call.getArgOperand(access.argument), size(access.argument));
  if (copied.empty()) return;
  if (copied.size() == 1) return emit.in_place(call.getArgOperand(copied[0]), size(copied[0]), false);
  for (const unsigned i : copied) emit.range(call.getArgOperand(i), size(i), nullptr, false);
  emit.call();
}

void CallHooks::add_blocking(HookEmitter& emit, llvm::CallBase& call, const CallInfo& info) {
  emit.blocking(name_of(*info.callee, *call.getModule()));
  if (call.doesNotReturn() || info.effects->no_return || call.isMustTailCall()) return;
  llvm::Instruction* behind = nullptr;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
    llvm::BasicBlock* next = invoke->getNormalDest();
    if (next->getSinglePredecessor() == nullptr) next = llvm::SplitEdge(invoke->getParent(), next);
    behind = &*next->getFirstInsertionPt();
  } else {
    behind = call.getNextNode();
  }
  if (behind == nullptr) return;  // callbr is for assembly only
  llvm::IRBuilder<> builder(behind);
  builder.SetCurrentDebugLocation(hook_location(call));
  builder.CreateCall(hooks_.blocking_done);
}

llvm::Constant* CallHooks::name_of(const llvm::Function& callee, llvm::Module& module) {
  llvm::Constant*& name = names_[&callee];
  if (name != nullptr) return name;
  llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), callee.getName());
  auto* variable =
      new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::PrivateLinkage, text);
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return name = variable;
}

}  // namespace heddle
