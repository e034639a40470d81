// Record variant: memory that calls of known functions wrote, as ranges for the runtime.
#pragma once

#include "instrument/record_log.h"
#include "program/record_plan.h"

namespace heddle {

// Emits the hook of one range, behind the call.
void emit_written_range(const RecordHooks& hooks, llvm::IRBuilder<>& builder, llvm::CallBase& call,
                        const WrittenRange& range);

}  // namespace heddle
