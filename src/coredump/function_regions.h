// Regions of one function: its loops and its control dependences, as algorithm 1 of the paper needs them.
//
// The paper writes iteration n of a loop as n times the loop's predicate. We write it as the loop (its header
// block) and n, the number of times that the header was entered, and leave dependences along back edges out:
// that is the same information, it does not depend on whether the compiler tests at the head or at the end of
// the loop, and a loop with several exits needs no special case.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/control_flow.h"
#include "program/program.h"

namespace heddle {

// A step of the way from a function's entry to a block, outermost first.
struct Region {
  enum class Kind : uint8_t {
    loop,    // `block` is the header
    branch,  // the branch at the end of `block` went to `successor`
    either,  // one of several branches that only together decide (a || b); `block` is the first of them
    merged,  // branches that cannot be told apart; `block` is their closest common region's, already listed:
             // nothing to check
  };
  Kind kind = Kind::branch;
  uint32_t block = 0, successor = 0;  // numbers in the function

  friend bool operator==(const Region&, const Region&) = default;
};

class FunctionRegions {
 public:
  explicit FunctionRegions(const llvm::Function& function);

  const ControlFlow& flow() const { return flow_; }
  // Headers of the loops that hold the block, outermost first.
  const std::vector<uint32_t>& loops_of(uint32_t block) const { return loops_[block]; }
  bool in_loop(uint32_t header, uint32_t block) const;
  // Algorithm 1 within the function, for a block.
  std::vector<Region> regions_of(uint32_t block) const;
  // Along edges that close no loop.
  bool reaches_forward(uint32_t from, uint32_t to) const;
  // The same, with as many more rounds as it takes of loops that are over before the target: that neither hold
  // it nor the branches that lead to it. (Out of the middle of a loop each round may lead there, or not.)
  bool may_reach(uint32_t from, uint32_t to) const;

 private:
  using Branches = std::vector<std::pair<uint32_t, uint32_t>>;  // block, successor
  Branches forward_dependences(uint32_t block, std::optional<uint32_t> loop) const;
  uint32_t closest_common(const Branches& branches) const;
  bool is_chain(const Branches& branches, uint32_t first, std::optional<uint32_t> loop) const;

  ControlFlow flow_;
  std::vector<std::vector<uint32_t>> loops_;
  mutable std::vector<std::vector<bool>> reached_;  // by block, when asked for
};

}  // namespace heddle
