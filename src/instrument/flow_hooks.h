// The state of a thread and the hooks of the flow runtime, as instrumented code uses them (abi/flow.h).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

#include "abi/flow.h"

namespace heddle {

constexpr uint64_t kFlowEvent = 1 << HEDDLE_FLOW_STATE_BITS;  // one more event, in a status

// Of heddle_flow_thread.
enum class FlowField : unsigned {
  status,
  tag,
  hash,
  seen,
  guard = offsetof(heddle_flow_thread, guard) / sizeof(uint64_t),
  held = offsetof(heddle_flow_thread, held) / sizeof(uint64_t)
};
llvm::Value* flow_field(llvm::IRBuilder<>& builder, llvm::Value* self, FlowField field);
void set_flow_status(llvm::IRBuilder<>& builder, llvm::Value* self, llvm::Value* value);

// Whether what happens inside an event can be events itself, if the event were not open.
// Waiting: it may wait for what is outside the program.
enum class FlowInside { anything, plain, waiting };

class FlowHooks {
 public:
  explicit FlowHooks(llvm::Module& module);

  // Takes the ranges that are announced right before into the same call.
  void begin(llvm::IRBuilder<>& builder, FlowInside inside) const;
  void end(llvm::IRBuilder<>& builder, FlowInside inside) const;

  // Around a call that works on an object of a library's; where it was left by an exception unlock stands too.
  void lock(llvm::IRBuilder<>& builder, llvm::Value* object) const;
  void unlock(llvm::IRBuilder<>& builder) const;

  // Around a call that gives new memory which no other thread reaches.
  void allocate_private(llvm::CallBase& call) const;

  // The number when recording; in a replay the one that was recorded. 64 bits.
  llvm::Value* told(llvm::IRBuilder<>& builder, llvm::Value* value) const;

  llvm::Value* self(llvm::IRBuilder<>& builder) const;  // the thread's state

 private:
  llvm::FunctionCallee begin_, begin_ranges_, end_, lock_, unlock_, told_;
  llvm::GlobalVariable *self_, *private_;
};

}  // namespace heddle
