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
struct LibraryCode {
  std::unordered_set<uint32_t> all;
  // What std::lock may be made of: everything where it is in the program, for its locks are taken by functions
  // that others may use too.
  std::unordered_set<uint32_t> tries_locks_again;
  std::unordered_set<uint32_t> formats;  // set or ask for width, precision, fill or flags of a stream
  // Move a std::string, or ask how much it can hold: optimised, they read that number also where characters are
  // in its place, of which most may never have been written.
  std::unordered_set<uint32_t> string_moves;
};
LibraryCode library_code(const Program& program);

// Reads of __libc_single_threaded, which the C library changes when the first thread is created: what a thread
// sees of it follows from what it has done.
std::unordered_set<uint32_t> single_threaded_reads(const Program& program);

}  // namespace heddle
