// Record variant: code that writes to the log of the running thread, in place. The state it works on and what
// each write does stand in abi/record.h.
//
// Writes are plain stores to memory of the thread's own: no atomics, no fences, nothing shared (D3). The last
// store of each, which makes it count, is volatile, so that code generation keeps the order that a crash must
// find.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace heddle {

struct LoggedValue {
  llvm::Value* value;
  unsigned bytes;  // 1, 2, 4 or 8
};

// Declarations in one module.
struct RecordHooks {
  explicit RecordHooks(llvm::Module& module);

  llvm::FunctionCallee next_word, rounds, next_data, enter, landed, twice_begin, twice, foreign, sync, returned,
      range;
  llvm::FunctionCallee scanned, chaos, block;
  llvm::GlobalVariable* state;  // the thread-local variable
};

// Emits in front of one instruction, with its place in the source. Writes split the block of that instruction,
// which is afterwards the first of the second half.
class LogEmitter {
 public:
  LogEmitter(const RecordHooks& hooks, llvm::Instruction& before);

  llvm::IRBuilder<>& builder() { return builder_; }

  // ---- path stream
  void write_bits(llvm::Value* number, unsigned bits);
  void write_rounds(llvm::Value* rounds, uint32_t exit, unsigned exit_bits);
  llvm::Value* path();
  void set_path(llvm::Value* number);
  void set_count(llvm::Value* rounds);
  // ---- data stream
  void append(llvm::ArrayRef<LoggedValue> values);  // together: a crash leaves all of few, or none
  // As it is stored: an integer of so many bytes.
  llvm::Value* stored_form(llvm::Value* value, unsigned bytes);
  // ---- calls through pointers: one that does not lead outside enters the program.
  void set_called(llvm::Value* leads_outside);
  // ---- disturbances
  void count_down_to_chaos();

 private:
  llvm::Value* field(size_t offset);
  void append_few(llvm::ArrayRef<LoggedValue> values);
  void append_bits(llvm::Value* number, llvm::Value* bits);
  // Code that is hardly ever run: the builder stands in it until leave_cold_path.
  void enter_cold_path(llvm::Value* condition);
  void leave_cold_path();
  llvm::Value* join(llvm::Value* usual, llvm::Value* cold);  // behind it
  llvm::MDNode* unlikely() const;

  const RecordHooks& hooks_;
  llvm::Instruction& before_;
  llvm::IRBuilder<> builder_;
  llvm::BasicBlock *usual_ = nullptr, *cold_ = nullptr;  // the blocks that meet in front of `before_`
};

}  // namespace heddle
