// Parts of structures, arrays and vectors.
#include <llvm/IR/Instructions.h>

#include "symex/machine.h"

namespace heddle {
namespace {

// The first cell of a member.
uint32_t member_cell(SymbolicMachine& machine, llvm::Type* type, llvm::ArrayRef<unsigned> path) {
  uint32_t cell = 0;
  for (const unsigned index : path) {
    for (unsigned i = 0; i < index; ++i)
      cell += machine.code.layout(llvm::ExtractValueInst::getIndexedType(type, {i})).cells;
    type = llvm::ExtractValueInst::getIndexedType(type, {index});
  }
  return cell;
}

void extract_member(SymbolicMachine& machine, const Op& op) {
  const auto& instruction = *llvm::cast<llvm::ExtractValueInst>(op.instruction);
  const uint32_t from =
      member_cell(machine, instruction.getAggregateOperand()->getType(), instruction.getIndices());
  std::copy_n(machine.get(op.a) + from, op.type->cells, machine.cells(op.to));
}

void insert_member(SymbolicMachine& machine, const Op& op) {
  const auto& instruction = *llvm::cast<llvm::InsertValueInst>(op.instruction);
  const uint32_t to = member_cell(machine, instruction.getType(), instruction.getIndices());
  const uint32_t cells = machine.code.layout(instruction.getInsertedValueOperand()->getType()).cells;
  std::copy_n(machine.get(op.a), op.type->cells, machine.cells(op.to));
  std::copy_n(machine.get(op.b), cells, machine.cells(op.to) + to);
}

// A lane whose number is an expression: one of all.
void extract_lane(SymbolicMachine& machine, const Op& op) {
  const auto& instruction = *llvm::cast<llvm::ExtractElementInst>(op.instruction);
  const ValueLayout& vector = machine.code.layout(instruction.getVectorOperandType());
  const Cell* from = machine.get(op.a);
  const Cell* index = machine.get(op.b);
  if (!index->expression) {
    const Leaf& leaf = vector.leaves[index->bits % vector.leaves.size()];
    std::copy_n(from + leaf.cell, words_of(leaf.bits), machine.cells(op.to));
    return;
  }
  const unsigned bits = vector.leaves[0].bits;
  Expr out = machine.expression(from, bits);
  for (size_t i = 1; i < vector.leaves.size(); ++i) {
    const Expr here = machine.pool().binary(
        ExprOp::eq, index->expression, machine.pool().constant(i, machine.pool().width(index->expression)));
    out = machine.pool().ite(here, machine.expression(from + vector.leaves[i].cell, bits), out);
  }
  machine.set(machine.cells(op.to), out);
}

void insert_lane(SymbolicMachine& machine, const Op& op) {
  const Cell* from = machine.get(op.a);
  const Cell* lane = machine.get(op.b);
  const Cell* index = machine.get(op.c);
  Cell* to = machine.cells(op.to);
  std::copy_n(from, op.type->cells, to);
  for (size_t i = 0; i < op.type->leaves.size(); ++i) {
    const Leaf& leaf = op.type->leaves[i];
    if (!index->expression) {
      if (index->bits % op.type->leaves.size() == i) std::copy_n(lane, words_of(leaf.bits), to + leaf.cell);
      continue;
    }
    const Expr here = machine.pool().binary(
        ExprOp::eq, index->expression, machine.pool().constant(i, machine.pool().width(index->expression)));
    machine.set(to + leaf.cell, machine.pool().ite(here, machine.expression(lane, leaf.bits),
                                                   machine.expression(from + leaf.cell, leaf.bits)));
  }
}

void shuffle(SymbolicMachine& machine, const Op& op) {
  const std::vector<int>& choices = machine.top().code->lane_choices[op.extra];
  const auto* input = llvm::cast<llvm::FixedVectorType>(op.instruction->getOperand(0)->getType());
  const auto lanes = static_cast<int>(input->getNumElements());
  const Cell* first = machine.get(op.a);
  const Cell* second = machine.get(op.b);
  for (size_t i = 0; i < choices.size(); ++i) {
    const Leaf& leaf = op.type->leaves[i];
    const unsigned words = words_of(leaf.bits);
    Cell* to = machine.cells(op.to) + leaf.cell;
    if (choices[i] < 0) {
      std::fill_n(to, words, Cell{});
    } else if (choices[i] < lanes) {
      std::copy_n(first + static_cast<unsigned>(choices[i]) * words, words, to);
    } else {
      std::copy_n(second + static_cast<unsigned>(choices[i] - lanes) * words, words, to);
    }
  }
}

// The head of an exception, which lies before the object that was thrown (Itanium C++ ABI, exception handling,
// section 2.2; 32 bytes of it are _Unwind_Exception), and the number of the clause that takes it. Where it goes
// from there is in the path.
void landing(SymbolicMachine& machine, const Op& op) {
  constexpr uint64_t kHead = 32;
  for (const Leaf& leaf : op.type->leaves) {
    Cell& to = machine.cells(op.to)[leaf.cell];
    if (leaf.bits != 64) {
      to = {0, machine.decided_by_path(leaf.bits)};
    } else if (machine.thrown) {
      to = {*machine.thrown - kHead, {}};
    } else {
      to = {0, machine.unknown(leaf.bits, "an exception that code outside has thrown")};
    }
  }
}

}  // namespace

OpAction aggregate_action(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::ExtractValue:
      return extract_member;
    case llvm::Instruction::InsertValue:
      return insert_member;
    case llvm::Instruction::ExtractElement:
      return extract_lane;
    case llvm::Instruction::InsertElement:
      return insert_lane;
    case llvm::Instruction::ShuffleVector:
      return shuffle;
    case llvm::Instruction::LandingPad:
      return landing;
    default:
      return nullptr;
  }
}

}  // namespace heddle
