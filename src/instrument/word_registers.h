// Record variant: the path word of the running thread in registers, in loops.
//
// The word in the making and its address are loaded where control enters an outermost loop in which nobody else
// writes to the path stream (no calls that do, no landings), and again behind heddle_record_next_word. Inside,
// a write is computed in registers and stored: memory is always up to date, so a crash loses nothing, and who
// comes after the loop finds the word where it always is.
//
// The runtime keeps its part: nothing but next_word, and what is called in other places, moves the word of a
// log (log.c).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include "instrument/record_log.h"

namespace heddle {

class WordRegisters {
 public:
  using AskBlock = llvm::function_ref<bool(const llvm::BasicBlock&)>;

  // Before anything is changed. `writes`: code in this block, or on an edge from it, writes to the path stream;
  // `others_write`: something that is called in it may.
  WordRegisters(const RecordHooks& hooks, llvm::Function& function, AskBlock writes, AskBlock others_write);

  // For writes in the block and on edges from it; null outside of such loops.
  const PathWord* of(const llvm::BasicBlock& block) const;

  // When all writes are there.
  void finish();

 private:
  const RecordHooks& hooks_;
  llvm::Function& function_;
  llvm::SmallVector<llvm::BasicBlock*> headers_;
  llvm::DenseSet<const llvm::BasicBlock*> blocks_;
  PathWord word_;
};

}  // namespace heddle
