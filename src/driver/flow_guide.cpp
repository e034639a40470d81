#include "driver/flow_guide.h"

#include <fmt/core.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "driver/order_guide.h"

namespace heddle {
namespace {

// What a controlled run does at an access.
heddle_step_target target_of(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::StoreInst>(instruction)) return HEDDLE_TARGET_write;
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return HEDDLE_TARGET_update;
  return HEDDLE_TARGET_read;
}

heddle_step_target target_of(const heddle_flow_name& name, const Program& program) {
  switch (name.kind) {
    case HEDDLE_FLOW_name_begin:
      return HEDDLE_TARGET_begin;
    case HEDDLE_FLOW_name_end:
      return HEDDLE_TARGET_end;
    case HEDDLE_FLOW_name_access:
      return target_of(program.instruction(InstructionId(name.site)));
    default:
      return HEDDLE_TARGET_sync;
  }
}

}  // namespace

Result<Guide> flow_guide(const std::vector<FlowThread>& threads, std::span<const heddle_flow_name> names,
                         const Program& program) {
  Guide guide;
  for (const FlowThread& thread : threads) guide.threads.push_back(HEDDLE_TRY(recorded_thread(thread.name)));
  for (const heddle_flow_name& name : names) {
    const FlowThread* thread = flow_thread_of(threads, name.slot, name.number);
    if (thread == nullptr)
      return Error{.what = fmt::format("the replay names a thread ({}) that was not recorded", name.slot)};
    const bool of_thread = name.kind == HEDDLE_FLOW_name_begin || name.kind == HEDDLE_FLOW_name_end;
    guide.steps.push_back({.thread = static_cast<uint32_t>(thread - threads.data()),
                           .target = target_of(name, program),
                           .site = of_thread ? HEDDLE_NO_SITE : name.site,
                           .occurrence = name.occurrence});
  }
  return guide;
}

}  // namespace heddle
