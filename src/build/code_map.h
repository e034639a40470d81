// From machine code of an executable to instructions of the canonical program, and back.
//
// The executable has no debug information that could tell (nobody need ask for any), and lines are too coarse.
// But the module inside it is what code generation saw, so generating the code again with one line number per
// instruction (numbered_module.h) gives the same bytes with a line table that is the map. Every function is
// compared with the executable byte by byte, but for what the linker fills in; one that differs is left out and
// named (`differing`).
//
// Addresses are those of the file: the load address is subtracted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "build/unit_code.h"
#include "program/program.h"

namespace heddle {

struct CodeRange {
  uint64_t begin = 0, end = 0;

  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// Where a value lives while code of the range runs: the bytes of a DWARF expression.
struct ValueLocation {
  CodeRange range;
  std::vector<uint8_t> expression;
};

struct MachineFunction {
  CodeRange range;
  FunctionId function;
  std::vector<uint8_t> frame_base;  // DWARF expression that DW_OP_fbreg counts from
};

struct CodeMapFiles {
  const PtwriteCode* ptwrite = nullptr;  // of that executable, in the place of the program's own
  std::filesystem::path symbols;         // with the symbol table, if that is not in it (image/debug_file.h)
};

class CodeMap {
 public:
  // Compiles all translation units again: about as long as their code generation took.
  static Result<CodeMap> make(const Program& program, const CodeMapFiles& files = {});

  std::optional<FunctionId> function_at(uint64_t address) const;
  const MachineFunction* code_at(uint64_t address) const;
  // Nothing: outside the program, or code that stands for several instructions (merged tails) or for none.
  std::optional<InstructionId> instruction_at(uint64_t address) const;
  // A call that is none in the program: a library model stands in its place (program/library_models.h).
  bool is_replaced_call(uint64_t address) const;
  // The last instruction of what stands in its place; nothing: none does.
  std::optional<InstructionId> end_of_replacement(uint64_t address) const;
  // Code that was put in to tell this about the instruction there.
  PtwriteSite ptwrite_at(uint64_t address) const;
  // What a block of the translation unit's function, by its number there, is in the program; null: nothing
  // says.
  const llvm::BasicBlock* block_of(FunctionId function, uint32_t number) const;
  // Code of an instruction, ascending; several ranges where code generation duplicated it, none where it left
  // nothing.
  std::vector<CodeRange> code_of(InstructionId instruction) const;
  // Of what loops, loads and calls give, of local variables in memory; empty when it is not known.
  const std::vector<ValueLocation>& locations_of(InstructionId value) const;
  const std::vector<ValueLocation>& locations_of_argument(FunctionId function, unsigned argument) const;

  std::string_view bytes_of(const CodeRange& range) const;  // of the executable

  const std::vector<MachineFunction>& functions() const { return functions_; }  // ascending
  const std::vector<std::string>& differing() const { return differing_; }

 private:
  friend class CodeMapBuilder;
  struct Row {
    CodeRange range;
    uint32_t instruction;
    bool replaced = false;
    uint32_t last = 0;  // replaced: the last instruction
    PtwriteSite ptwrite;
  };
  const Row* row_at(uint64_t address) const;
  std::map<uint64_t, std::string> sections_;  // code, by address
  std::vector<MachineFunction> functions_;
  std::vector<Row> rows_;  // ascending, without overlaps
  std::multimap<uint32_t, CodeRange> code_;
  std::map<uint32_t, std::vector<const llvm::BasicBlock*>> blocks_;
  std::map<uint32_t, std::vector<ValueLocation>> locations_;
  std::map<std::pair<uint32_t, unsigned>, std::vector<ValueLocation>> argument_locations_;
  std::vector<std::string> differing_;
};

}  // namespace heddle
