// One module of a program, compiled again with its instructions and blocks numbered (code_map_builder.h).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// Bitcode in which each instruction has its position in its function + 1 as the line of its debug location,
// with column kNumberedColumn, and each block is named by its position.
inline constexpr unsigned kNumberedColumn = 1;
Result<std::string> number_bitcode(const std::string& bitcode, const std::string& name);

// Assembly with a label at the beginning of each machine block. `blocks`: by label, the name of its function
// and the position of its block, or UINT32_MAX for blocks that the back end made.
struct LabelledBlock {
  std::string function;
  uint32_t block = UINT32_MAX;
};
std::string label_blocks(const std::string& assembly, std::vector<LabelledBlock>& blocks);
std::string block_label(size_t number);

// The options of the command line that decide what code is generated.
std::vector<std::string> code_options(const std::vector<std::string>& args);

// Compiles `bitcode` as the unit was compiled. The labels stand in an object of their own, since the assembler
// fills gaps with other instructions than the compiler does: all is in the same places in both.
struct NumberedObject {
  std::string bytes;                  // with the line table
  std::string labelled;               // label i: block_label(i)
  std::vector<LabelledBlock> blocks;  // by label
};
Result<NumberedObject> compile_numbered(const std::string& bitcode, const TranslationUnit& unit,
                                        const std::filesystem::path& scratch);

}  // namespace heddle
