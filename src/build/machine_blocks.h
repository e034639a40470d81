// Where the blocks of the program begin in the machine code of the executable, beside the CodeMap, which knows
// its instructions: a block need not have an instruction of its own (it may be a jump, or a copy for a phi),
// and which way a branch went is told by the block that it led to.
//
// The back end writes the block that it made each of its own from as a comment into assembly. So each module is
// compiled once more to assembly, with numbers for names of its blocks, and assembled with a label in each of
// these places. The labels change no code; that its size is that in the executable is checked, or else, where
// the assembler has shorter forms of some instructions, that these are as many.
//
// A machine block belongs to at most one block of the program: what the back end split off by itself (lowered
// selects, atomics, comparisons of memory) belongs to none, and copies (tail duplication) belong to that which
// was copied.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "build/code_map.h"

namespace heddle {

struct MachineBlock {
  uint64_t address = 0;                     // in the file
  const llvm::BasicBlock* block = nullptr;  // null: of none
};

class MachineBlocks {
 public:
  // `ptwrite`: as of the map.
  static Result<MachineBlocks> make(const Program& program, const CodeMap& code,
                                    const PtwriteCode* ptwrite = nullptr);

  // Ascending; empty for functions that the map does not have.
  const std::vector<MachineBlock>& of(FunctionId function) const;

 private:
  std::map<uint32_t, std::vector<MachineBlock>> blocks_;
};

// For tests: puts a label at the beginning of each machine block of the assembly. `blocks`: by label, the
// function and the number of the block, UINT32_MAX for those of none.
struct LabelledBlock {
  std::string function;
  uint32_t block = UINT32_MAX;
};
std::string label_machine_blocks(const std::string& assembly, std::vector<LabelledBlock>& blocks);

}  // namespace heddle
