// Dependence distance (section 4 of the core-dump paper): how many dependences lie between an access of the
// passing run and what decided at the aligned point: a dynamic slice, backwards from there.
//
// Of the run its shared accesses are known, not every instruction. So the slice is over accesses: a read
// depends on the write that it saw; a write on the reads whose values reached what it stores or where; each
// access on the reads that decided whether it came. The values are followed in the program, through registers,
// local memory, arguments and results; which execution of a read is meant is taken to be the thread's last one
// before.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "abi/control.h"
#include "coredump/execution_index.h"

namespace heddle {

struct SliceStart {
  InstructionId instruction;  // that failed, or the branch by which the run went another way
  uint32_t thread = 0;
  size_t event = 0;  // of the run: looked at is what came before
};

inline constexpr uint32_t kNotInSlice = UINT32_MAX;
// By event: the number of dependences from the start to it.
std::vector<uint32_t> dependence_distances(const ProgramRegions& regions,
                                           const std::vector<heddle_event>& events, const SliceStart& start);

// Those with one dependence to one of the starts: reads whose values decided there. Where one saw what its own
// thread had written, those that this was made of, too: others cannot change that read, but these.
std::set<size_t> deciding_accesses(const ProgramRegions& regions, const std::vector<heddle_event>& events,
                                   std::span<const SliceStart> starts);

}  // namespace heddle
