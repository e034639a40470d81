#include "program/calls.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>

#include "base/result.h"

namespace heddle {
namespace {

// syscall() is many functions behind one name; only the number says which.
const Effects* system_call_effects(const llvm::CallBase& call, const EffectsTable& effects) {
  if (call.arg_empty()) return nullptr;
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  if (number == nullptr || number->getValue().getActiveBits() > 63) return nullptr;
  return effects.find(fmt::format("syscall:{}", number->getZExtValue()));
}

const Effects* external_effects(const llvm::CallBase& call, llvm::StringRef name, const EffectsTable& effects) {
  const Effects* found = name == "syscall" ? system_call_effects(call, effects)
                                           : effects.find(std::string_view(name.data(), name.size()));
  // A call with fewer arguments is of another function that happens to have this name: the effects would speak
  // of arguments that are not there.
  if (found != nullptr && static_cast<unsigned>(found->arguments) > call.arg_size()) return nullptr;
  return found;
}

CallClass class_of(const Effects* effects) {
  if (effects == nullptr) return CallClass::unknown_external;
  if (effects->sync != HEDDLE_SYNC_none) return CallClass::synchronisation;
  if (effects->allocation != AllocationKind::none) return CallClass::allocation;
  return CallClass::known_external;
}

}  // namespace

std::string_view call_class_name(CallClass c) {
  switch (c) {
    case CallClass::inside:
      return "inside";
    case CallClass::indirect:
      return "indirect";
    case CallClass::synchronisation:
      return "synchronisation";
    case CallClass::allocation:
      return "allocation";
    case CallClass::known_external:
      return "known external";
    case CallClass::unknown_external:
      return "unknown external";
    case CallClass::intrinsic:
      return "intrinsic";
    case CallClass::inline_assembly:
      return "inline assembly";
  }
  HEDDLE_CHECK(false);
  return {};
}

CallInfo classify_call(const llvm::CallBase& call, const EffectsTable& effects) {
  if (call.isInlineAsm()) return {.cls = CallClass::inline_assembly};
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  if (callee == nullptr) return {.cls = CallClass::indirect};
  if (callee->isIntrinsic()) return {.cls = CallClass::intrinsic, .callee = callee};
  // available_externally bodies are copies for the optimiser: the code that runs is outside.
  if (!callee->isDeclarationForLinker()) return {.cls = CallClass::inside, .callee = callee};
  const llvm::StringRef name = llvm::GlobalValue::dropLLVMManglingEscape(callee->getName());
  const Effects* found = external_effects(call, name, effects);
  return {.cls = class_of(found), .callee = callee, .effects = found};
}

bool cuts_path(const CallInfo& call) {
  switch (call.cls) {
    case CallClass::inside:
    case CallClass::indirect:
    case CallClass::unknown_external:
      return true;
    case CallClass::synchronisation:
    case CallClass::allocation:
    case CallClass::known_external:
      return call.effects->no_return || !call.effects->calls.empty() ||
             call.effects->sync == HEDDLE_SYNC_thread_exit || call.effects->sync == HEDDLE_SYNC_once;
    case CallClass::intrinsic:
    case CallClass::inline_assembly:
      return false;
  }
  return true;
}

}  // namespace heddle
