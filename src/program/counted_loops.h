// The likely ways around the innermost loops of a function, whose rounds are counted (segments.h, counted
// loops), found in the blocks' graph.
//
// Looked at are natural loops (Aho, Sethi, Ullman 1986, section 10.4) with no retreating edge inside but those
// to their header. The way begins at the header. From a block with a known branch it goes on to all successors
// from which it can come round, from others to the most likely of these, the first if several are. A block can
// come round if it is allowed and the header, or a block of the loop that can come round, is a successor.
//
// How likely a branch goes where, among the successors inside the loop, is guessed from the function alone:
// - by the branch weights in its metadata, each plus 1 so that nothing is impossible; else
// - integers are equal 16 times of 100 (the opcode heuristic of Wu and Larus, MICRO 1994), but for comparisons
//   with 0 and of bits that were masked out, which are flags; each case of a switch is as likely as the others;
// - and a successor that cannot come round, because of a call at which a segment ends, is taken 2 times where
//   one that can is taken 7 times (their call heuristic).
// Ways out of the loop are left out: they are taken once, whatever happens in the rounds.
//
// A round on the way costs a counter, one that leaves it the writing of rounds, which is dearer than that of a
// number. In a loop of a few instructions both are as dear as ordinary numbering, which writes in each round,
// when 3 of 4 rounds take the way. So it is worth counting if that many do; and if some branch on it is
// undecided.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "program/control_flow.h"

namespace heddle {

struct CountedLoopBlocks {
  struct Member {
    uint32_t block;
    std::optional<uint32_t> next;  // none: the branch is known, its successors among the members are meant
  };
  uint32_t header;
  std::vector<Member> members;  // ascending, with the header
};

// By header. `allowed`: may this block be in a counted loop? `known`: is the branch at its end known?
// O(edges + blocks * log(blocks)).
std::vector<CountedLoopBlocks> find_counted_loops(const ControlFlow& flow,
                                                  llvm::function_ref<bool(uint32_t)> allowed,
                                                  llvm::function_ref<bool(uint32_t)> known);

}  // namespace heddle
