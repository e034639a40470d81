// Casts, of each lane.
#include "symex/machine.h"

namespace heddle {
namespace {

void truncate(SymbolicMachine& machine, const Op& op) {
  const Cell* from = machine.get(op.a);
  Cell* to = machine.cells(op.to);
  const unsigned words = words_of(op.bits), result_words = words_of(op.to_bits);
  for (unsigned lane = 0; lane < op.lanes; ++lane, from += words, to += result_words) {
    if (!from->expression && op.to_bits <= 64) {
      machine.set(to, from->bits & low_bits(op.to_bits));
    } else {
      machine.set(to, machine.pool().extract(machine.expression(from, op.bits), 0, op.to_bits));
    }
  }
}

template <bool with_sign>
void extend(SymbolicMachine& machine, const Op& op) {
  const Cell* from = machine.get(op.a);
  Cell* to = machine.cells(op.to);
  const unsigned words = words_of(op.bits), result_words = words_of(op.to_bits);
  for (unsigned lane = 0; lane < op.lanes; ++lane, from += words, to += result_words) {
    if (!from->expression && op.to_bits <= 64) {
      const uint64_t sign = with_sign && (from->bits >> (op.bits - 1) & 1) != 0 ? ~low_bits(op.bits) : 0;
      machine.set(to, (from->bits | sign) & low_bits(op.to_bits));
    } else {
      const Expr value = machine.expression(from, op.bits);
      machine.set(to,
                  with_sign ? machine.pool().sext(value, op.to_bits) : machine.pool().zext(value, op.to_bits));
    }
  }
}

void resize(SymbolicMachine& machine, const Op& op) {
  if (op.to_bits < op.bits) return truncate(machine, op);
  extend<false>(machine, op);
}

template <ExprOp operation>
void convert(SymbolicMachine& machine, const Op& op) {
  const FloatFormat from_format = float_format(*op.instruction->getOperand(0)->getType()->getScalarType());
  const FloatFormat to_format = float_format(*op.instruction->getType()->getScalarType());
  const Cell* from = machine.get(op.a);
  Cell* to = machine.cells(op.to);
  const unsigned words = words_of(op.bits), result_words = words_of(op.to_bits);
  for (unsigned lane = 0; lane < op.lanes; ++lane, from += words, to += result_words)
    machine.set(to, machine.pool().convert(operation, from_format, to_format, machine.expression(from, op.bits),
                                           op.to_bits));
}

// Lanes may be cut otherwise: all bits, then the parts.
void reinterpret(SymbolicMachine& machine, const Op& op) {
  const ValueLayout& from = machine.code.layout(op.instruction->getOperand(0)->getType());
  const Cell* cells = machine.get(op.a);
  Cell* to = machine.cells(op.to);
  if (from.leaves.size() == 1 && op.type->leaves.size() == 1) {
    std::copy_n(cells, from.cells, to);
    return;
  }
  Expr whole = machine.expression(cells, from.leaves.front().bits);
  for (size_t i = 1; i < from.leaves.size(); ++i)
    whole = machine.pool().concat(machine.expression(cells + from.leaves[i].cell, from.leaves[i].bits), whole);
  unsigned done = 0;
  for (const Leaf& leaf : op.type->leaves) {
    machine.set(to + leaf.cell, machine.pool().extract(whole, done, leaf.bits));
    done += leaf.bits;
  }
}

}  // namespace

OpAction cast_action(const llvm::CastInst& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Trunc:
      return truncate;
    case llvm::Instruction::ZExt:
      return extend<false>;
    case llvm::Instruction::SExt:
      return extend<true>;
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::AddrSpaceCast:
      return resize;
    case llvm::Instruction::BitCast:
      return reinterpret;
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
      return convert<ExprOp::float_to_float>;
    case llvm::Instruction::FPToSI:
      return convert<ExprOp::float_to_signed>;
    case llvm::Instruction::FPToUI:
      return convert<ExprOp::float_to_unsigned>;
    case llvm::Instruction::SIToFP:
      return convert<ExprOp::signed_to_float>;
    case llvm::Instruction::UIToFP:
      return convert<ExprOp::unsigned_to_float>;
    default:
      return nullptr;
  }
}

}  // namespace heddle
