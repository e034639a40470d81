// Values by which a frame of one run is compared with the same frame of another (section 4 of the core-dump
// paper: the failing thread's locals): arguments, places of local variables, and what loads, calls and loops
// gave.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// Always in the same order. At most `kMostFrameValues`: those that come first in the function.
inline constexpr size_t kMostFrameValues = 256;
std::vector<const llvm::Value*> frame_values(const llvm::Function& function);

// As the source calls it, where the program was compiled with -g; else by its number.
std::string frame_value_name(const llvm::Value& value);
// Its type there; null: not known. Of a pointer without a type (void*) that of a variable which gets its value.
const llvm::DIType* frame_value_type(const llvm::Value& value);
// The compiler's own, in a function whose variables are described: its memory is used for other things when it
// is over.
bool is_temporary(const llvm::AllocaInst& place);

}  // namespace heddle
