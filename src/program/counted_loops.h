// The loops of a function in which nothing is undecided but whether to go on (segments.h, counted loops), found
// in the blocks' graph: natural loops (Aho, Sethi, Ullman 1986, section 10.4) with no retreating edge inside
// but those to their header, in which each block has one successor inside, or a known choice of them, and which
// have an exit that is not known.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <vector>

#include "program/control_flow.h"

namespace heddle {

struct CountedLoopBlocks {
  uint32_t header;
  std::vector<uint32_t> blocks;   // ascending, with the header
  std::vector<uint32_t> latches;  // ascending
};

// By header. `allowed`: may this block be in a counted loop? `known`: is the branch at its end known? O(edges).
std::vector<CountedLoopBlocks> find_counted_loops(const ControlFlow& flow,
                                                  llvm::function_ref<bool(uint32_t)> allowed,
                                                  llvm::function_ref<bool(uint32_t)> known);

}  // namespace heddle
