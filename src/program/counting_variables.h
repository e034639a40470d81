// Variables that count the rounds of a loop: what they hold says how often the loop's header has been entered.
// A core is asked for them (coredump/core_index.h), and `heddle cc -fheddle-loop-counters` adds one to loops
// that have none.
//
// Counted is: a phi of the header that begins with a constant and grows by a constant in each round; without
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
  int64_t start = 0, step = 0;
  unsigned bits = 0;

  // How often the header has been entered, by the variable's value in this round. Nothing: it has no such
  // value.
  std::optional<uint64_t> rounds(uint64_t value) const;
  // By the value that it gets in the next round.
  std::optional<uint64_t> rounds_by_next(uint64_t value) const;
};

std::vector<CountingVariable> counting_variables(const llvm::Loop& loop, const llvm::LoopInfo& loops,
                                                 const llvm::DominatorTree& tree);

}  // namespace heddle
