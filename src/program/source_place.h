// Places in the user's source, from the debug locations of the stored modules.
#pragma once

#include <llvm/IR/Instruction.h>

#include <string>
#include <vector>

namespace heddle {

struct SourcePlace {
  std::string file;      // as the compiler was given it, absolute where the compiler knew
  unsigned line = 0;     // 0: unknown
  unsigned column = 0;
  std::string function;  // demangled

  bool known() const { return line != 0; }
  std::string text() const;  // "file:line" or "function" or "?"
};

// Where the instruction stands, innermost first; more than one place when it was inlined.
std::vector<SourcePlace> source_places(const llvm::Instruction& instruction);
SourcePlace source_place(const llvm::Instruction& instruction);

std::string readable_name(const llvm::Function& function);

}  // namespace heddle
