// The value of one node, given those of its operands: what folding and evaluation both use.
//
// Values are words, the lowest first; bits above the width are 0.
#pragma once

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/ArrayRef.h>

#include <array>
#include <cstdint>

#include "trace/expression.h"
#include "trace/math_functions.h"

namespace heddle {

struct NodeOperand {
  const uint64_t* words = nullptr;
  unsigned width = 0;
  llvm::APInt number() const { return llvm::APInt(width, llvm::ArrayRef<uint64_t>(words, words_of(width))); }
};
using NodeOperands = std::array<NodeOperand, 3>;  // as operands_of() has them

// `function`: of a call; null if it is not known. Answers whether there is a value: there is none (0 is
// written) for reads, unknowns, calls of unknown functions.
bool evaluate_node(const ExprNode& node, const NodeOperands& operands, const MathFunction* function,
                   uint64_t* out);

// Whether the value depends on nothing unknown, given whether its operands do: which of an ite's matters is
// known if its condition (its first operand: `condition`) is.
constexpr bool is_node_certain(const ExprNode& node, const std::array<bool, 3>& operands, bool condition) {
  if (node.op == ExprOp::ite && operands[0]) return operands[condition ? 1 : 2];
  return operands[0] && operands[1] && operands[2];
}

}  // namespace heddle
