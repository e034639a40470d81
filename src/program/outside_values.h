// Values that a program gets from the machine and not from its own computation, other than by calls of
// functions: an interpreter of its code cannot know them, so every policy of recording logs them (D4).
//
// - The address of a stack object that goes anywhere: to a call, into memory, into a choice between addresses.
//   Objects that are only accessed directly may lie anywhere for the interpreter.
// - Results of inline assembly.
// - Results of intrinsics that ask the machine: clocks, random numbers, addresses of frames, modes.
#pragma once

#include <llvm/IR/Instructions.h>

namespace heddle {

// Bytes of such a value in the data stream: 1, 2, 4 or 8; 0 for all others. Of addresses of stack objects the
// lower 4 are kept: the thread's stack (heddle_record_log) says the rest.
unsigned outside_value_bytes(const llvm::Instruction& instruction);

}  // namespace heddle
