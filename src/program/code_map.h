// Where the instructions of the canonical program stand in the machine code of the binary itself
// (build/code_map_builder.h makes it): for traces of the hardware and for core dumps of unmodified programs.
//
// Addresses are those of the file. A machine block is a part of a function that is entered at its beginning
// only, as the compiler's back end laid it out; it belongs to at most one block of the program. A machine
// instruction belongs to at most one instruction of the program: what the compiler merged or made up by itself
// belongs to none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace heddle {

struct MappedFunction {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct MachineBlock {
    uint64_t address = 0;
    uint32_t block = kNone;  // position in the function
  };
  struct Row {  // from here on, up to the next row
    uint64_t address = 0;
    uint32_t instruction = kNone;  // position in the function
  };

  const llvm::Function* function = nullptr;
  uint64_t begin = 0, end = 0;
  std::vector<MachineBlock> blocks;  // by address
  std::vector<Row> rows;             // by address

  uint32_t instruction_at(uint64_t address) const {
    auto after = std::ranges::upper_bound(rows, address, {}, &Row::address);
    return after == rows.begin() ? kNone : std::prev(after)->instruction;
  }
};

struct CodeMap {
  std::vector<MappedFunction> functions;  // by address
  // Functions of the program that are in the binary, but with other code than the one that was generated again.
  std::vector<std::string> different;

  const MappedFunction* at(uint64_t address) const {
    auto after = std::ranges::upper_bound(functions, address, {}, &MappedFunction::begin);
    if (after == functions.begin()) return nullptr;
    --after;
    return address < after->end ? &*after : nullptr;
  }
};

}  // namespace heddle
