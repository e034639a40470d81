// Calls of the program that put something out (printf, operator<<): they change a stream that no thread can
// tell the state of. For whoever explores all interleavings: the order of such calls need not be explored.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "program/program.h"

namespace heddle {

// By their numbers (InstructionId).
std::unordered_set<uint32_t> output_calls(const Program& program);
// Instructions that come from headers of the C++ library.
std::unordered_set<uint32_t> library_code(const Program& program);

// Reads of __libc_single_threaded, which the C library changes when the first thread is created: what a thread
// sees of it follows from what it has done.
std::unordered_set<uint32_t> single_threaded_reads(const Program& program);

}  // namespace heddle
