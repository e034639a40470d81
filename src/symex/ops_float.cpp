// Floating point: arithmetic and comparisons. Concrete float and double are computed by the host, which is the
// machine that the program ran on or one like it; other formats go through expressions.
#include <llvm/IR/InstrTypes.h>

#include <bit>
#include <cmath>

#include "symex/machine.h"

namespace heddle {
namespace {

template <ExprOp operation, class Number>
Number compute(Number a, Number b) {
  if constexpr (operation == ExprOp::fadd) return a + b;
  if constexpr (operation == ExprOp::fsub) return a - b;
  if constexpr (operation == ExprOp::fmul) return a * b;
  if constexpr (operation == ExprOp::fdiv) return a / b;
  return 0;
}

template <ExprOp operation>
bool compute_here(const Cell& a, const Cell& b, FloatFormat format, Cell& to) {
  if constexpr (operation == ExprOp::frem) return false;
  if (a.expression || b.expression) return false;
  if (format == FloatFormat::twice) {
    const double result = compute<operation>(std::bit_cast<double>(a.bits), std::bit_cast<double>(b.bits));
    if (std::isnan(result)) return false;
    to = {std::bit_cast<uint64_t>(result), {}};
    return true;
  }
  if (format == FloatFormat::single) {
    const float result = compute<operation>(std::bit_cast<float>(static_cast<uint32_t>(a.bits)),
                                            std::bit_cast<float>(static_cast<uint32_t>(b.bits)));
    if (std::isnan(result)) return false;
    to = {std::bit_cast<uint32_t>(result), {}};
    return true;
  }
  return false;
}

template <ExprOp operation>
void float_binary(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  const Cell* b = machine.get(op.b);
  Cell* to = machine.cells(op.to);
  for (const Leaf& leaf : op.type->leaves) {
    if (compute_here<operation>(a[leaf.cell], b[leaf.cell], leaf.format, to[leaf.cell])) continue;
    machine.set(to + leaf.cell,
                machine.pool().floating(operation, leaf.format, machine.expression(a + leaf.cell, leaf.bits),
                                        machine.expression(b + leaf.cell, leaf.bits)));
  }
}

void negate(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  Cell* to = machine.cells(op.to);
  for (const Leaf& leaf : op.type->leaves) {
    std::vector<uint64_t> sign(words_of(leaf.bits));
    sign[(leaf.bits - 1) / 64] = uint64_t{1} << ((leaf.bits - 1) % 64);
    machine.set(to + leaf.cell,
                machine.pool().binary(ExprOp::bit_xor, machine.expression(a + leaf.cell, leaf.bits),
                                      machine.pool().constant(sign, leaf.bits)));
  }
}

// A predicate is the set of relations that it holds for: unordered 8, less 4, greater 2, equal 1.
void compare(SymbolicMachine& machine, const Op& op) {
  const auto& instruction = *llvm::cast<llvm::FCmpInst>(op.instruction);
  const llvm::Type* type = instruction.getOperand(0)->getType()->getScalarType();
  const FloatFormat format = float_format(*type);
  const auto predicate =
      static_cast<unsigned>(instruction.getPredicate());  // FCMP_OEQ is 1, OGT 2, OLT 4, UNO 8
  ExprPool& pool = machine.pool();
  const Cell* a = machine.get(op.a);
  const Cell* b = machine.get(op.b);
  const unsigned bits = op.bits, words = words_of(bits);
  for (unsigned lane = 0; lane < op.lanes; ++lane) {
    const Expr left = machine.expression(a + lane * words, bits),
               right = machine.expression(b + lane * words, bits);
    Expr result = pool.constant(0, 1);
    const auto add = [&](Expr holds) { result = pool.binary(ExprOp::bit_or, result, holds); };
    if ((predicate & 1) != 0) add(pool.floating(ExprOp::feq, format, left, right));
    if ((predicate & 2) != 0) add(pool.floating(ExprOp::flt, format, right, left));
    if ((predicate & 4) != 0) add(pool.floating(ExprOp::flt, format, left, right));
    if ((predicate & 8) != 0) add(pool.floating(ExprOp::funordered, format, left, right));
    machine.set(machine.cells(op.to) + lane, result);
  }
}

}  // namespace

OpAction float_action(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
      return float_binary<ExprOp::fadd>;
    case llvm::Instruction::FSub:
      return float_binary<ExprOp::fsub>;
    case llvm::Instruction::FMul:
      return float_binary<ExprOp::fmul>;
    case llvm::Instruction::FDiv:
      return float_binary<ExprOp::fdiv>;
    case llvm::Instruction::FRem:
      return float_binary<ExprOp::frem>;
    case llvm::Instruction::FNeg:
      return negate;
    case llvm::Instruction::FCmp:
      return compare;
    default:
      return nullptr;
  }
}

}  // namespace heddle
