// Places in the user's source, from the debug locations of the stored modules.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct SourcePlace {
  std::string file;   // as the compiler was given it, absolute where the compiler knew
  unsigned line = 0;  // 0: unknown
  unsigned column = 0;
  std::string function;  // demangled
  unsigned begin = 0;    // line where the function begins; 0: unknown

  bool known() const { return line != 0; }
  std::string text() const;  // "file:line" or "function" or "?"
};

// Where the instruction stands, innermost first; more than one place when it was inlined. Of an instruction
// without a line (moved or merged by the optimiser) the place of the one beside it.
std::vector<SourcePlace> source_places(const llvm::Instruction& instruction);
SourcePlace source_place(const llvm::Instruction& instruction);

// The innermost place that is not in a system header: the line of their own code that people look for when the
// instruction came from a template or an inline function of the library.
SourcePlace user_place(const llvm::Instruction& instruction);

// As places have it: absolute where the compiler knew.
std::string source_file(const llvm::DIScope& scope);

std::string readable_name(const llvm::Function& function);

// A demangled name without the arguments of templates and functions, for lists: "std::map<>::operator[]()".
std::string short_name(std::string_view name);

}  // namespace heddle
