// The hooks of the control variant in a module, and how calls of them are made.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "abi/control.h"
#include "instrument/instrument.h"
#include "program/program.h"

namespace heddle {

// Declarations in one module.
struct ControlHooks {
  explicit ControlHooks(llvm::Module& module);

  llvm::FunctionCallee read, write, atomic_read, atomic_write, update, fence, in_place;
  llvm::FunctionCallee range, call, blocking, blocking_done, assembly, assembly_load, own, leave, frame_end;
  llvm::FunctionCallee clock, chance;
  llvm::GlobalVariable* site;  // the thread-local variable
};

// Emits hooks in front of one instruction, in its name: its id as the site, and its place in the source.
class HookEmitter {
 public:
  HookEmitter(const Program& program, const ControlHooks& hooks, llvm::Instruction& at);

  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Value* size(uint64_t bytes) { return builder_.getInt64(bytes); }

  // The answer is where the access is to go. HEDDLE_ORDER_plain: not atomic.
  llvm::Value* read(llvm::Value* pointer, llvm::Value* size, heddle_order order);
  llvm::Value* write(llvm::Value* pointer, llvm::Value* size, heddle_order order);
  void update(llvm::Value* pointer, llvm::Value* size, heddle_order order);
  void fence(heddle_order order);
  void in_place(llvm::Value* pointer, llvm::Value* size, bool writes);
  // Ranges first, then the call: one event for all of them. `limit` null: none.
  void range(llvm::Value* pointer, llvm::Value* size, llvm::Value* limit, bool writes);
  void call();
  void note_site();
  void blocking(llvm::Value* name);
  void assembly();
  void assembly_load(llvm::Value* pointer, llvm::Value* size);
  void own(llvm::Value* pointer, llvm::Value* size);
  void leave(llvm::Value* target);

 private:
  llvm::Value* access(const llvm::FunctionCallee& plain, const llvm::FunctionCallee& atomic,
                      llvm::Value* pointer, llvm::Value* size, heddle_order order);

  const ControlHooks& hooks_;
  llvm::IRBuilder<> builder_;
  llvm::ConstantInt* site_;
};

// As the hooks name it; an order that binds only a thread and its signal handlers is none between threads.
heddle_order hook_order(llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope);

}  // namespace heddle
