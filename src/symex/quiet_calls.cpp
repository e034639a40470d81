// Calls that leave the program and of which the recording says nothing: their effects follow from what is
// known.
#include <fmt/core.h>

#include "program/source_place.h"
#include "symex/machine.h"

namespace heddle {
namespace {

void nothing(Machine&, const Op&) {}

void release(Machine& machine, const Op& op) {
  const auto& call = *llvm::cast<llvm::CallBase>(op.instruction);
  const Effects& effects = *machine.code.plan().call(call).info.effects;
  const std::optional<uint64_t> at = machine.address(
      *machine.value(*call.getArgOperand(static_cast<unsigned>(effects.allocation_pointer))), op);
  if (at && *at != 0) machine.release_block(*at);
}

void unknown_call(Machine& machine, const Op& op) {
  const auto& call = *llvm::cast<llvm::CallBase>(op.instruction);
  const llvm::Function* callee = call.getCalledFunction();
  machine.set_unknown(op,
                      fmt::format("the result of {}", callee != nullptr ? readable_name(*callee) : "assembly"));
}

}  // namespace

OpAction quiet_call_action(const llvm::CallBase& call, const CallPlan& plan) {
  if (plan.info.effects != nullptr && plan.info.effects->allocation == AllocationKind::release) return release;
  if (call.getType()->isVoidTy()) return nothing;
  return unknown_call;
}

}  // namespace heddle
