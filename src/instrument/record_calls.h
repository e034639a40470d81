// Record variant: the data stream around calls, and logged values.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "instrument/record_log.h"
#include "program/record_plan.h"

namespace heddle {

class CallRecorder {
 public:
  CallRecorder(const Program& program, const RecordPlan& plan, const RecordHooks& hooks, llvm::Module& module);

  void add(llvm::CallBase& call);
  void add_value(llvm::Instruction& instruction, unsigned bytes);

 private:
  void add_pointer_call(llvm::CallBase& call, const CallPlan& plan);
  void add_twice(llvm::CallBase& call);
  void add_sync(llvm::CallBase& call, const CallPlan& plan);
  void add_returned(llvm::Instruction& behind, llvm::CallBase& call, const CallPlan& plan);

  const Program& program_;
  const RecordPlan& plan_;
  const RecordHooks& hooks_;
  llvm::Constant *entries_begin_, *entries_end_;  // of the section with the program's entries
};

}  // namespace heddle
