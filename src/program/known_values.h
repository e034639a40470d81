// Which values of the program a reader of its recording can compute by itself: those that follow from constants
// and from values in the data stream (results of loud calls, logged values), thread by thread, without knowing
// any memory that threads share. Branches on such values need no bits in the path stream (D4, last sentence).
//
// A value is known when it is an integer or pointer of at most 64 bits and
// - a constant integer or null; or `logged` says that the data stream holds it;
// - computed from known values (word_operations.h): integer arithmetic, comparisons, casts between integers and
//   pointers, select, freeze, getelementptr, some intrinsics; or a phi all of whose incoming values are known;
// - an argument of a function that is known at every direct call from inside the program, and told in the data
//   stream whenever it is entered otherwise;
// - the result of a direct call of a function of the program that is known at every return;
// - a load from a promotable stack slot (stack_slots.h: what -O0 makes of local variables) that is stored to
//   before on every way, where all stores to the slot are of known values.
// Division by a value that may be 0 is known: the program traps if it is. Not known: undef and poison, floats,
// vectors, addresses of globals, functions and stack objects, everything else. In a function with a call that
// returns twice (setjmp, vfork) nothing is known but constants and arguments: which of its earlier values the
// second return finds depends on registers.
//
// The greatest fixpoint of these rules is right: whoever follows an execution forward computes each value from
// earlier ones. Arithmetic that overflows where the code says it does not (nsw, nuw, exact) would be undefined,
// and processors may go another way than the reader; the recorded program makes no such promises where known
// branches need the value (promises.h).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

struct KnownOptions {
  // Is the result of this instruction (no phi) in the data stream? At most 64 bits.
  llvm::function_ref<bool(const llvm::Instruction&)> logged;
  // May this function be entered otherwise than by direct calls from inside the program, without its arguments
  // being told?
  llvm::function_ref<bool(const llvm::Function&)> entered_silently;
};

class KnownValues {
 public:
  KnownValues(const llvm::Module& module, const KnownOptions& options);

  bool known(const llvm::Value& value) const;
  // br and switch whose condition is known and that have more than one successor.
  bool branch_known(const llvm::BasicBlock& block) const;
  // Of known values, stores to known slots included: does a known branch need it, in this function or another?
  // The reader computes these only.
  bool needed(const llvm::Instruction& instruction) const;
  bool needed(const llvm::Argument& argument) const;
  // A promotable stack slot with known values that some known branch needs.
  bool known_slot(const llvm::AllocaInst& slot) const;

  // Known because it is in the data stream.
  bool logged(const llvm::Instruction& instruction) const;

  // The needed instructions of a block in their order, without and only its phis: there is nothing else to
  // execute.
  llvm::ArrayRef<const llvm::Instruction*> needed_instructions(const llvm::BasicBlock& block) const;
  llvm::ArrayRef<const llvm::Instruction*> needed_phis(const llvm::BasicBlock& block) const;

  // Needed values (arguments, instructions) and slots have places in each activation of their function.
  std::optional<uint32_t> place(const llvm::Value& value) const;
  uint32_t places(const llvm::Function& function) const;
  const llvm::DataLayout& layout() const { return module_.getDataLayout(); }

 private:
  class Fixpoint;
  class Slice;
  struct Needs {  // of a block, in needed_
    size_t first = 0, after_phis = 0, end = 0;
  };
  void place_needed(const Slice& slice);

  const llvm::Module& module_;
  llvm::DenseSet<const llvm::Value*> known_;
  llvm::DenseSet<const llvm::Instruction*> logged_;
  llvm::DenseMap<const llvm::Value*, uint32_t> places_;
  llvm::DenseMap<const llvm::Function*, uint32_t> place_counts_;
  std::vector<const llvm::Instruction*> needed_;
  llvm::DenseMap<const llvm::BasicBlock*, Needs> needs_;
};

}  // namespace heddle
