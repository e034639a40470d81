// Values of floating point operations, as an x86-64 machine computes them.
//
//   - half and bfloat are computed as single and rounded again, as compilers do where the machine has no such
//   numbers;
//   - conversions to integers of what does not fit give what the conversion instructions and the code around
//   them give for 64
//     bits at most (a bit pattern, not a saturated number), and saturate beyond;
//   - which of several NaNs comes out is the first operand (x87 takes the one with the larger significand;
//   compilers may swap
//     operands): programs that tell NaNs apart are not worth more.
#pragma once

#include <cstdint>

#include "trace/node_value.h"

namespace heddle {

// requires: is_float_operation(node.op) or is_conversion(node.op)
void float_value(const ExprNode& node, const NodeOperands& operands, uint64_t* out);

}  // namespace heddle
