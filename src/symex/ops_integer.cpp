// Integers: arithmetic, comparisons, select, freeze. Wide ones, of more than 64 bits, go through expressions.
#include <llvm/IR/InstrTypes.h>

#include "symex/machine.h"

namespace heddle {
namespace {

int64_t as_signed(uint64_t bits, unsigned width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

// As the machine computes it, of width up to 64; ExprOp has the rest of the meaning.
template <ExprOp operation>
uint64_t compute(uint64_t a, uint64_t b, unsigned width) {
  if constexpr (operation == ExprOp::add) return (a + b) & low_bits(width);
  if constexpr (operation == ExprOp::sub) return (a - b) & low_bits(width);
  if constexpr (operation == ExprOp::mul) return (a * b) & low_bits(width);
  if constexpr (operation == ExprOp::bit_and) return a & b;
  if constexpr (operation == ExprOp::bit_or) return a | b;
  if constexpr (operation == ExprOp::bit_xor) return a ^ b;
  if constexpr (operation == ExprOp::shl) return b >= width ? 0 : (a << b) & low_bits(width);
  if constexpr (operation == ExprOp::lshr) return b >= width ? 0 : a >> b;
  if constexpr (operation == ExprOp::ashr)
    return static_cast<uint64_t>(as_signed(a, width) >> (b >= width ? width - 1 : b)) & low_bits(width);
  if constexpr (operation == ExprOp::eq) return a == b;
  if constexpr (operation == ExprOp::ult) return a < b;
  if constexpr (operation == ExprOp::ule) return a <= b;
  if constexpr (operation == ExprOp::slt) return as_signed(a, width) < as_signed(b, width);
  if constexpr (operation == ExprOp::sle) return as_signed(a, width) <= as_signed(b, width);
}

// `swapped`: the operands change places; `inverted`: the result is negated (comparisons).
template <ExprOp operation, bool swapped = false, bool inverted = false>
void binary(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(swapped ? op.b : op.a);
  const Cell* b = machine.get(swapped ? op.a : op.b);
  Cell* to = machine.cells(op.to);
  const unsigned words = words_of(op.bits), result_words = words_of(op.to_bits);
  for (unsigned lane = 0; lane < op.lanes; ++lane, a += words, b += words, to += result_words) {
    if constexpr (operation != ExprOp::udiv && operation != ExprOp::sdiv && operation != ExprOp::urem &&
                  operation != ExprOp::srem) {
      if (words == 1 && !a->expression && !b->expression) {
        machine.set(to, compute<operation>(a->bits, b->bits, op.bits) ^ (inverted ? 1 : 0));
        continue;
      }
    }
    Expr result =
        machine.pool().binary(operation, machine.expression(a, op.bits), machine.expression(b, op.bits));
    if (inverted) result = machine.pool().logical_not(result);
    machine.set(to, result);
  }
}

template <ExprOp operation>
void divide(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  const Cell* b = machine.get(op.b);
  if (op.lanes == 1 && op.bits <= 64 && !a->expression && !b->expression && b->bits != 0 &&
      (operation == ExprOp::udiv || operation == ExprOp::urem)) {
    machine.set(machine.cells(op.to), operation == ExprOp::udiv ? a->bits / b->bits : a->bits % b->bits);
    return;
  }
  binary<operation>(machine, op);
}

void choose(SymbolicMachine& machine, const Op& op) {
  const bool each = llvm::cast<llvm::SelectInst>(op.instruction)->getCondition()->getType()->isVectorTy();
  const Cell* conditions = machine.get(op.a);
  const Cell* yes = machine.get(op.b);
  const Cell* no = machine.get(op.c);
  Cell* to = machine.cells(op.to);
  for (size_t i = 0; i < op.type->leaves.size(); ++i) {
    const Leaf& leaf = op.type->leaves[i];
    const Cell& condition = conditions[each ? i : 0];
    if (!condition.expression) {
      std::copy_n((condition.bits != 0 ? yes : no) + leaf.cell, words_of(leaf.bits), to + leaf.cell);
    } else {
      machine.set(to + leaf.cell,
                  machine.pool().ite(condition.expression, machine.expression(yes + leaf.cell, leaf.bits),
                                     machine.expression(no + leaf.cell, leaf.bits)));
    }
  }
}

void copy_value(SymbolicMachine& machine, const Op& op) {
  std::copy_n(machine.get(op.a), op.type->cells, machine.cells(op.to));
}

OpAction comparison(llvm::CmpInst::Predicate predicate) {
  switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return binary<ExprOp::eq>;
    case llvm::CmpInst::ICMP_NE:
      return binary<ExprOp::eq, false, true>;
    case llvm::CmpInst::ICMP_ULT:
      return binary<ExprOp::ult>;
    case llvm::CmpInst::ICMP_ULE:
      return binary<ExprOp::ule>;
    case llvm::CmpInst::ICMP_UGT:
      return binary<ExprOp::ult, true>;
    case llvm::CmpInst::ICMP_UGE:
      return binary<ExprOp::ule, true>;
    case llvm::CmpInst::ICMP_SLT:
      return binary<ExprOp::slt>;
    case llvm::CmpInst::ICMP_SLE:
      return binary<ExprOp::sle>;
    case llvm::CmpInst::ICMP_SGT:
      return binary<ExprOp::slt, true>;
    case llvm::CmpInst::ICMP_SGE:
      return binary<ExprOp::sle, true>;
    default:
      return nullptr;
  }
}

}  // namespace

OpAction integer_action(const llvm::Instruction& instruction) {
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction))
    return comparison(compare->getPredicate());
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Add:
      return binary<ExprOp::add>;
    case llvm::Instruction::Sub:
      return binary<ExprOp::sub>;
    case llvm::Instruction::Mul:
      return binary<ExprOp::mul>;
    case llvm::Instruction::UDiv:
      return divide<ExprOp::udiv>;
    case llvm::Instruction::SDiv:
      return divide<ExprOp::sdiv>;
    case llvm::Instruction::URem:
      return divide<ExprOp::urem>;
    case llvm::Instruction::SRem:
      return divide<ExprOp::srem>;
    case llvm::Instruction::Shl:
      return binary<ExprOp::shl>;
    case llvm::Instruction::LShr:
      return binary<ExprOp::lshr>;
    case llvm::Instruction::AShr:
      return binary<ExprOp::ashr>;
    case llvm::Instruction::And:
      return binary<ExprOp::bit_and>;
    case llvm::Instruction::Or:
      return binary<ExprOp::bit_or>;
    case llvm::Instruction::Xor:
      return binary<ExprOp::bit_xor>;
    case llvm::Instruction::Select:
      return choose;
    case llvm::Instruction::Freeze:
      return copy_value;
    default:
      return nullptr;
  }
}

}  // namespace heddle
