// The index of a thread in a core (algorithm 1): its stack gives the calls, the control dependences of the
// program the branches, and values that are alive the loop counts.
#pragma once

#include "build/code_map.h"
#include "coredump/core_stacks.h"
#include "coredump/execution_index.h"

namespace heddle {

// A value of the program in a frame of the core, by its DWARF location; nothing: it is not alive there.
std::optional<uint64_t> value_in_frame(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                       InstructionId value);

// The same of any of frame_values(); of local variables in memory, their place.
std::optional<uint64_t> frame_value(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                    const Program& program, const llvm::Value& value);

struct CoreIndex {
  ExecutionIndex index;
  std::vector<const CoreFrame*> frames;  // behind each frame of the index; null: it has none (tail_calls.h)
  uint64_t unknown_counts = 0;           // loops whose iteration could not be recovered
  uint64_t unknown_places = 0;           // frames of which only the function is known
};

// Of frames outside the program nothing is in the index.
CoreIndex index_of_stack(const CoreFile& core, const CoreStack& stack, const CodeMap& map,
                         const ProgramRegions& regions);

}  // namespace heddle
