// Values by which a frame of one run is compared with the same frame of another (section 4 of the core-dump
// paper: the failing thread's locals): arguments, places of local variables, and what loads, calls and loops
// gave.
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// Always in the same order. At most `kMostFrameValues`: those that come first in the function.
inline constexpr size_t kMostFrameValues = 256;
std::vector<const llvm::Value*> frame_values(const llvm::Function& function);

// As the source calls it, where the program was compiled with -g; else by its number.
std::string frame_value_name(const llvm::Value& value);

}  // namespace heddle
