// Compares the memory of two runs of a program (section 4 of the paper): the core of the one that failed, and
// one that passes, at the aligned point. Global variables by their names and types, then everything that
// pointers lead to from there, and from the argument of the failing thread, along the same reference path in
// both. What differs is critical.
//
// Pointers are not compared by address, but by what they refer to: the same variable, or blocks that the same
// path led to before. What a pointer leads to has the type that debug information (-g) gives it there, objects
// of classes the one that their table of virtual functions names; elements of std containers are compared one
// by one, those of maps and sets by key (std_container.h). Memory without a type is compared word by word; a
// word that leads to readable memory in both is taken for a pointer (as in Boehm's collector).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "image/elf_file.h"
#include "program/program.h"

namespace heddle {

// One of the two runs.
struct ComparedMemory {
  std::function<size_t(uint64_t address, void* bytes, size_t size)> read;
  std::vector<ElfSymbol> variables;  // addresses in the file
  uint64_t base = 0;                 // plus this: in memory
  uint64_t end = 0;                  // of the executable in memory
  // Bytes of the heap block that begins there, 0: none is known to.
  std::function<uint64_t(uint64_t address)> block_size;
  std::optional<uint64_t> argument;  // of the failing thread
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
};

// A value of a frame in both runs (program/frame_values.h).
struct ComparedLocal {
  const llvm::Value* value = nullptr;
  uint64_t failing = 0, passing = 0;  // of local variables in memory: where they are
  bool own = false;                   // of the failing thread
};

struct MemoryDifference {
  std::string path;      // "balance", "cache.table[3]->next->size", without types "*head+16"
  uint64_t address = 0;  // in the passing run
  uint64_t size = 0;
  uint64_t failing = 0, passing = 0;  // values, of up to 8 bytes; of pointers the addresses
  bool pointer = false;
  bool own = false;  // in local variables of the failing thread, or reached from them alone
  std::string type;  // empty: not known
  std::string failing_text, passing_text;
  uint64_t elements = 1;  // that differ: more than one of a text
};

// A pointer in memory whose block differs: something was written to the block, or the pointer leads to another
// one.
struct DifferentBlock {
  MemoryDifference pointer;
  size_t first = 0, end = 0;  // of `differences`: those in the block
};

struct DumpComparison {
  std::vector<MemoryDifference> differences;
  std::vector<DifferentBlock> blocks_that_differ;
  uint64_t compared = 0;  // variables of primitive types, words of the heap
  uint64_t blocks = 0;    // reached by pointers
  bool complete = true;   // false: there was more than is compared
};

// `left_out`: memory of the passing run that means something else there (synchronisation objects).
// `argument_type`: of the failing thread's argument; null: not known.
DumpComparison compare_memory(const Program& program, const ComparedMemory& failing,
                              const ComparedMemory& passing, const std::vector<ComparedLocal>& locals,
                              const std::vector<MemoryRange>& left_out, const llvm::DIType* argument_type);

}  // namespace heddle
