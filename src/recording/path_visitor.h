// What somebody who follows a thread's path is told, in the order of execution (decoder.h).
//
// Inside a block, what is told names its instruction; everything between is as the code says. References and
// views are valid during the call only.
#pragma once

#include <llvm/IR/Instructions.h>

#include <span>
#include <string>
#include <string_view>

#include "program/program.h"
#include "recording/entries.h"

namespace heddle {

enum class EnteredBy {
  outside,   // nothing of the program was running: main, the start of a thread, a handler
  callback,  // by code outside that the program is calling
  call,      // directly
  pointer,
};

enum class LeftBy {
  returned,
  unwound,  // by an exception, longjmp, the end of the thread; known from where the thread was seen next
};

struct DecodeEnd {
  enum class Kind {
    complete,  // everything was read, and nothing of the program is running
    in_call,   // everything was read: the thread is outside, in a call of the program
    stopped,   // everything was read: the thread is somewhere in the code of the program, or control was lost
    begins_late,  // the log does not begin where the thread began: nothing was told
    trouble,      // a branch cannot be computed, or the way has no end: `text`
    damaged,      // the log holds what this program cannot have written: `text`
  };
  Kind kind = Kind::complete;
  std::string text;
  // How many blocks were told, and how many of these the thread is sure to have entered, but for those that
  // control_lost took back. Code that writes nothing may have been told and not been reached; a second reader
  // can stop in time.
  uint64_t blocks = 0, certain_blocks = 0;
  uint64_t data_read = 0;  // how much of the data stream was (EntryReader::position)
};

class PathVisitor {
 public:
  virtual ~PathVisitor() = default;

  virtual void enter_function(FunctionId, EnteredBy) {}
  // The function was entered by code outside, with these arguments: those of at most 8 bytes, others are left
  // out.
  virtual void arguments(FunctionId, std::span<const uint64_t>) {}
  virtual void leave_function(FunctionId, LeftBy) {}
  virtual void block(BlockId) {}
  // A loop in which nothing but blocks happens: these, in this order, so often.
  virtual void repeated_blocks(std::span<const BlockId> round, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i)
      for (BlockId id : round) block(id);
  }
  // A logged value; of a stack object the lower bytes of its address.
  virtual void value(const llvm::Instruction&, uint64_t /*value*/) {}

  // What follows ran on this core, from then on (a time stamp); what is in the block that was told last may
  // have been before or after. kAnyCore: nobody knows where, as of code outside.
  static constexpr uint32_t kAnyCore = UINT32_MAX;
  virtual void runs_on(uint32_t /*core*/, uint64_t /*tsc*/) {}
  virtual void lost_value(const llvm::Instruction&) {}  // one that is logged elsewhere, and that nobody knows

  // ---- calls that leave the program
  virtual void synchronises(const llvm::CallBase&, const SyncEntry&) {}
  virtual void calls_outside(const llvm::CallBase&, uint64_t /*target*/) {}  // through a pointer
  virtual void child(uint64_t /*number*/) {}
  virtual void returned(const llvm::CallBase&, const ReturnedEntry&) {}
  virtual void written(const llvm::CallBase&, size_t /*range, of those of the call*/, const WrittenBytes&) {}
  // Into memory that none of its arguments points to. `new_block`: the size of the block that it has allocated
  // there, 0 if it has not.
  virtual void written_at(const llvm::CallBase&, uint64_t /*address*/, std::string_view /*bytes*/,
                          uint64_t /*new_block*/) {}
  virtual void landed(const llvm::InvokeInst&) {}
  virtual void returned_twice(const llvm::CallBase&, const TwiceEntry&) {}  // setjmp, first and later

  // ---- in logs of handlers
  virtual void signal(const SignalEntry&) {}
  virtual void signal_end() {}

  // A handler interrupted the thread and was left by a jump. So many of all blocks told so far are certain; of
  // those behind them the thread may have entered the first ones only, or none.
  virtual void control_lost(uint64_t /*certain_blocks*/) {}

  // The same, where it is known how far the thread came: to this instruction of the block that was told last,
  // and not further.
  virtual void interrupted(const llvm::Instruction&) {}

  // What follows is not in the log: it comes from the thread's state when it was stopped, or is what must come
  // next.
  virtual void pending() {}
  virtual void end(const DecodeEnd&) {}
};

}  // namespace heddle
