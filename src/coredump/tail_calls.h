// Functions that end by calling another one leave no frame on the stack, since the call is a jump: a thread of
// std::thread stands in its function as if nobody had called it. The program says who did; of calls through
// pointers, what they called in a run.
#pragma once

#include <map>
#include <set>
#include <span>

#include "abi/control.h"
#include "coredump/core_index.h"

namespace heddle {

// What each function of the program called in a run, also through foreign code.
using ObservedCalls = std::map<FunctionId, std::set<FunctionId>>;
ObservedCalls observed_calls(std::span<const heddle_move> moves, const ProgramRegions& regions);

// Puts the missing frames into an index: between a call and a function that it does not call itself, and before
// the first one, if that is none of `beginnings` (functions that threads of a run begin with). They have no
// frame of the core (null). Where nothing leads there by such calls, the index stays as it is.
void add_tail_callers(CoreIndex& index, const Program& program, const std::set<FunctionId>& beginnings,
                      const ObservedCalls& observed);

}  // namespace heddle
