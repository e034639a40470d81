// Functions of the mathematics library that depend on their operands only: those that expressions may call and
// that can be evaluated, by the host's library.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle {

struct MathFunction {
  std::string_view name;
  unsigned width;                                // of operands and result: 32 or 64
  unsigned operands;                             // 1 or 2
  uint64_t (*evaluate)(uint64_t a, uint64_t b);  // bits to bits
};

const MathFunction* find_math_function(std::string_view name);  // null: there is none

}  // namespace heddle
