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

  llvm::FunctionCallee next_word, next_data, enter, landed, twice_begin, twice, foreign, sync, returned, range;
  llvm::FunctionCallee scanned, chaos, block;
  llvm::GlobalVariable* state;  // the thread-local variable
};

// Variables that hold the path word in the making and its address (word_registers.h).
struct PathWord {
  llvm::AllocaInst *at = nullptr, *word = nullptr;
};

// Emits in front of one instruction, with its place in the source. Writes split the block of that instruction,
// which is afterwards the first of the second half.
class LogEmitter {
 public:
  // `word`: if not null, the variables hold what the thread's state says.
  LogEmitter(const RecordHooks& hooks, llvm::Instruction& before, const PathWord* word = nullptr);

  llvm::IRBuilder<>& builder() { return builder_; }

  // ---- path stream
  void write_bits(llvm::Value* number, unsigned bits);
  void write_round();  // of a counted loop: the bit 0
  void load_word();    // into the variables
  llvm::Value* path();
  void set_path(llvm::Value* number);
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
  struct Word {
    llvm::Value *at, *word;
  };
  Word word_in_memory();
  Word present_word();
  Word next_word(const Word& present, llvm::Value* full);  // if it is full
  void store(const Word& word);
  // Code that is hardly ever run: the builder stands in it until leave_cold_path.
  void enter_cold_path(llvm::Value* condition);
  void leave_cold_path();
  llvm::Value* join(llvm::Value* usual, llvm::Value* cold);  // behind it
  llvm::MDNode* unlikely() const;

  const RecordHooks& hooks_;
  llvm::Instruction& before_;
  const PathWord* const variables_;
  llvm::IRBuilder<> builder_;
  llvm::BasicBlock *usual_ = nullptr, *cold_ = nullptr;  // the blocks that meet in front of `before_`
};

}  // namespace heddle
