// The point of a passing run that corresponds to an index (section 3.3 of the paper, rules 5 to 7), from where
// the threads of that run went.
//
// A frame of the run matches a frame of the index when the frames around it do, and it was called by the same
// call in the same iteration of the loops around that. The run is at the point when it enters the last frame's
// block in the right iterations: exact. It has lost the point when a branch leads to where the block cannot be
// reached any more in these iterations: that covers conditions 2 and 3 of rule 6, and loops that are left too
// early. Where counts are not known, any iteration will do.
#pragma once

#include <functional>
#include <set>
#include <span>

#include "abi/control.h"
#include "coredump/execution_index.h"

namespace heddle {

struct Alignment {
  bool exact = false;
  uint64_t move = 0;  // position in the run's moves, from 0: the run is to be looked at before it
  uint32_t thread = 0;
  size_t frames = 0;  // of the index that were matched
  std::optional<InstructionId>
      predicate;  // not exact: where the run went another way; nothing: it never came so far
};

// All points that match as far as each other, in the order of the run: more than one where counts are not
// known. Empty: the thread did not even enter the first function.
std::vector<Alignment> alignments(const ExecutionIndex& index, std::span<const heddle_move> moves,
                                  uint32_t thread, const ProgramRegions& regions);

// Each call of a function of the program in a run: the thread, the innermost function of the program around it
// (nothing: libraries called it), the function.
using CallVisitor = std::function<void(uint32_t thread, std::optional<FunctionId> caller, FunctionId callee)>;
void visit_calls(std::span<const heddle_move> moves, const ProgramRegions& regions, const CallVisitor& visit);

// Functions of the program that libraries call in threads of the run: those that threads begin with, and what
// is called when they are over (destructors of thread-specific data).
std::set<FunctionId> functions_that_begin(std::span<const heddle_move> moves, const ProgramRegions& regions);

// Threads of the run that enter this function of the program first, in order of creation; if no thread does,
// those in which libraries call it.
std::vector<uint32_t> threads_that_begin_with(FunctionId function, std::span<const heddle_move> moves,
                                              const ProgramRegions& regions);

}  // namespace heddle
