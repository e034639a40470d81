// Variadic arguments as x86-64 passes them (System V ABI, section 3.5.7): a va_list is { offset of the next
// general register, of the next vector register, overflow area, register save area }. The code that fetches
// them was made by clang and is interpreted as any other.
#pragma once

#include "symex/code.h"

namespace heddle {

void begin_variadic(SymbolicMachine& machine, const Op& op);
void copy_variadic(SymbolicMachine& machine, const Op& op);
// The arguments of a call behind the named ones, kept for begin_variadic() in the frame on top; `call` was made
// by the frame below.
struct VariadicArguments {
  // The areas, as bytes that are written to memory when somebody asks for them.
  struct Part {
    uint64_t offset;
    Cell value;
    uint32_t bits;  // at most 64
  };
  std::vector<Part> registers;  // in the register save area of 176 bytes
  std::vector<Part> overflow;
  uint32_t general_used = 0, vector_used = 0;  // by named arguments
  uint64_t overflow_used = 0;                  // by these, too
  uint64_t overflow_size = 0;                  // of the area, with them
};
VariadicArguments collect_variadic(SymbolicMachine& machine, const llvm::CallBase& call);

}  // namespace heddle
