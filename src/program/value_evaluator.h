// Computes the known values of one thread (known_values.h) while somebody follows its path.
//
// The caller drives it: enters functions, blocks and instructions in the order of execution, gives it what
// stands in the data stream, and asks for the successor at known branches. The answers are those of the
// recorded program, also where arithmetic overflows: its record variant makes no use of promises that it does
// not (promises.h).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PointerIntPair.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program/known_values.h"

namespace heddle {

class ValueEvaluator {
 public:
  explicit ValueEvaluator(const KnownValues& known);

  // A new activation on top. `call` is the direct call that leads here, whose arguments are taken from the
  // activation below; null when the function is entered from outside.
  void enter(const llvm::Function& function, const llvm::CallBase* call);
  // The activation on top ends. Its result, if it is known and needed, becomes the value of the call it was
  // entered by: `returned` is the return instruction, null when it ends otherwise (exception, longjmp).
  void leave(const llvm::ReturnInst* returned);
  size_t depth() const;

  // In the activation on top:
  void enter_block(const llvm::BasicBlock& block,
                   const llvm::BasicBlock* from);  // its phis; null at function entry
  // Any instruction but phis; calls are set() or left alone. Does nothing for what no known branch needs, so it
  // is enough to go through KnownValues::needed_instructions().
  void execute(const llvm::Instruction& instruction);
  void set(const llvm::Value& value, uint64_t bits);  // instruction or argument, from the data stream
  // Where the known branch at the end of `block` goes; null when it cannot be said, and trouble() says why
  // (undefined behaviour in the recorded run: a division by 0, a shift by too much; a value that was never
  // set).
  const llvm::BasicBlock* successor(const llvm::BasicBlock& block) const;
  const std::string& trouble() const;

 private:
  // A value, and what is wrong with it and since where. Faults go from inputs to results.
  enum Fault : unsigned { none, undefined, unset };  // the worse the larger
  struct Cell {
    uint64_t bits = 0;
    llvm::PointerIntPair<const llvm::Value*, 2, Fault> fault{nullptr, unset};
  };
  struct Activation {
    const llvm::Function* function;
    const llvm::CallBase* call;
    size_t first_cell;
  };

  // Instructions and edges are looked up by address once, and kept in a form that is quick to execute.
  struct Operand {
    const llvm::Value* value;
    uint32_t place;  // kNoPlace: a constant
    uint64_t constant;
  };
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  struct Step {
    enum Kind { nothing, copy, choose, compute } kind = nothing;
    const llvm::Instruction* instruction = nullptr;
    uint32_t to = kNoPlace;
    llvm::SmallVector<Operand, 3> inputs;
  };
  struct Move {
    uint32_t to;
    Operand from;
  };
  using Edge = std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>;

  Operand operand(const llvm::Value& value) const;
  Step make_step(const llvm::Instruction& instruction) const;
  std::vector<Move> make_moves(const llvm::BasicBlock& block, const llvm::BasicBlock* from) const;

  Cell read(const Operand& operand) const;
  void write(uint32_t place, const Cell& cell);
  Cell choose(const Step& step) const;
  Cell compute(const Step& step) const;
  std::string describe(const Cell& cell) const;

  const KnownValues& known_;
  std::vector<Activation> activations_;
  std::vector<Cell> cells_;  // of all activations, the top one's last
  llvm::DenseMap<const llvm::Instruction*, uint32_t> step_numbers_;
  std::vector<Step> steps_{Step{}};  // the first is of all instructions with nothing to do
  llvm::DenseMap<Edge, std::vector<Move>> moves_;
  mutable std::string trouble_;
};

}  // namespace heddle
