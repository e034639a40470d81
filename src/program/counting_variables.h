// Variables that count the rounds of a loop: what they hold says how often the loop's header has been entered.
// A core is asked for them (coredump/core_index.h), and `heddle cc -fheddle-loop-counters` adds one to loops
// that have none.
//
// Counted is: a phi of the header, a number or a pointer, that grows by a constant in each round and begins
// with a constant or with a value of the function (where that is known too, so is the round); without
// optimisation a local variable in memory that is set to a constant on the way into the loop and grows by a
// constant once in each round. Numbers of less than 32 bits are left out: they may have wrapped around.
//
// Part of the compiler's plugin too: nothing of heddle is used here.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

struct CountingVariable {
  const llvm::Instruction* variable = nullptr;  // a phi, or a place in memory
  // What the variable is in the next round, once this one has computed it: of a phi the sums; of memory the
  // store behind which the variable is ahead.
  std::vector<const llvm::Instruction*> next;
  // An argument or an instruction outside of the loop: what the variable begins with is this plus `start`.
  // Null: `start` alone.
  const llvm::Value* base = nullptr;
  int64_t start = 0, step = 0;
  unsigned bits = 0;

  // How often the header has been entered, by the variable's value in this round and that of its base. Nothing:
  // it has no such value.
  std::optional<uint64_t> rounds(uint64_t value, uint64_t base_value = 0) const;
  // By the value that it gets in the next round.
  std::optional<uint64_t> rounds_by_next(uint64_t value, uint64_t base_value = 0) const;
};

// A call that gives what it is given and is no code, but is not understood by code generation's optimisations:
// a hint what to expect of a number, or to forget what is known of a pointer.
bool is_hint(const llvm::Value& value);

// Those that begin with a constant come first.
std::vector<CountingVariable> counting_variables(const llvm::Loop& loop, const llvm::LoopInfo& loops,
                                                 const llvm::DominatorTree& tree);

}  // namespace heddle
