// Addresses, loads, stores, atomic updates, fences, stack objects.
#include <llvm/IR/Instructions.h>

#include "program/access.h"
#include "symex/machine.h"

namespace heddle {
namespace {

void address(SymbolicMachine& machine, const Op& op) {
  const AddressParts& parts = machine.top().code->addresses[op.extra];
  const Cell* base = machine.get(op.a);
  ExprPool& pool = machine.pool();
  for (unsigned lane = 0; lane < op.lanes; ++lane) {
    uint64_t sum = static_cast<uint64_t>(parts.constant);
    Expr symbolic;
    const auto add = [&](Expr part) { symbolic = symbolic ? pool.binary(ExprOp::add, symbolic, part) : part; };
    const Cell& from = base[parts.base_lanes ? lane : 0];
    if (from.expression) {
      add(from.expression);
    } else {
      sum += from.bits;
    }
    for (const AddressParts::Index& index : parts.indexes) {
      const Cell& cell = machine.get(index.operand)[index.lanes ? lane : 0];
      if (!cell.expression) {
        const auto number = static_cast<uint64_t>(
            static_cast<int64_t>(cell.bits << (64 - std::min<unsigned>(index.bits, 64))) >>
            (64 - std::min<unsigned>(index.bits, 64)));
        sum += number * static_cast<uint64_t>(index.scale);
        continue;
      }
      const Expr wide = index.bits < 64 ? pool.sext(cell.expression, 64) : pool.extract(cell.expression, 0, 64);
      add(pool.binary(ExprOp::mul, wide, pool.constant(static_cast<uint64_t>(index.scale), 64)));
    }
    Cell* to = machine.cells(op.to) + lane;
    if (symbolic) {
      machine.set(to, pool.binary(ExprOp::add, symbolic, pool.constant(sum, 64)));
    } else {
      machine.set(to, sum);
    }
  }
}

void load(SymbolicMachine& machine, const Op& op) {
  const Cell& at = *machine.get(op.a);
  if (at.expression) return machine.load(at.expression, *op.type, machine.cells(op.to), op);
  machine.load(at.bits, *op.type, machine.cells(op.to), op);
}

void store(SymbolicMachine& machine, const Op& op) {
  const Cell& at = *machine.get(op.b);
  if (at.expression) return machine.store(at.expression, *op.type, machine.get(op.a), op);
  machine.store(at.bits, *op.type, machine.get(op.a), op);
}

Expr updated(ExprPool& pool, llvm::AtomicRMWInst::BinOp operation, FloatFormat format, Expr old, Expr operand) {
  const unsigned bits = pool.width(old);
  const auto smaller = [&](ExprOp compare, bool take_smaller) {
    const Expr less = pool.binary(compare, old, operand);
    return take_smaller ? pool.ite(less, old, operand) : pool.ite(less, operand, old);
  };
  switch (operation) {
    case llvm::AtomicRMWInst::Xchg:
      return operand;
    case llvm::AtomicRMWInst::Add:
      return pool.binary(ExprOp::add, old, operand);
    case llvm::AtomicRMWInst::Sub:
      return pool.binary(ExprOp::sub, old, operand);
    case llvm::AtomicRMWInst::And:
      return pool.binary(ExprOp::bit_and, old, operand);
    case llvm::AtomicRMWInst::Nand:
      return pool.binary(ExprOp::bit_xor, pool.binary(ExprOp::bit_and, old, operand),
                         pool.sext(pool.constant(1, 1), bits));
    case llvm::AtomicRMWInst::Or:
      return pool.binary(ExprOp::bit_or, old, operand);
    case llvm::AtomicRMWInst::Xor:
      return pool.binary(ExprOp::bit_xor, old, operand);
    case llvm::AtomicRMWInst::Max:
      return smaller(ExprOp::slt, false);
    case llvm::AtomicRMWInst::Min:
      return smaller(ExprOp::slt, true);
    case llvm::AtomicRMWInst::UMax:
      return smaller(ExprOp::ult, false);
    case llvm::AtomicRMWInst::UMin:
      return smaller(ExprOp::ult, true);
    case llvm::AtomicRMWInst::FAdd:
      return pool.floating(ExprOp::fadd, format, old, operand);
    case llvm::AtomicRMWInst::FSub:
      return pool.floating(ExprOp::fsub, format, old, operand);
    case llvm::AtomicRMWInst::UIncWrap:
      return pool.ite(pool.binary(ExprOp::ult, old, operand),
                      pool.binary(ExprOp::add, old, pool.constant(1, bits)), pool.constant(0, bits));
    default:
      return {};
  }
}

Expr update_at(SymbolicMachine& machine, const Cell& at, unsigned bits, const Op& op,
               const std::function<Expr(Expr)>& change) {
  return at.expression ? machine.update(at.expression, bits, op, change)
                       : machine.update(at.bits, bits, op, change);
}

void update(SymbolicMachine& machine, const Op& op) {
  const auto& instruction = *llvm::cast<llvm::AtomicRMWInst>(op.instruction);
  const unsigned bits = op.type->leaves.front().bits;
  const Expr operand = machine.expression(machine.get(op.b), bits);
  const Expr old = update_at(machine, *machine.get(op.a), bits, op, [&](Expr before) {
    const Expr after = updated(machine.pool(), instruction.getOperation(), float_format(*instruction.getType()),
                               before, operand);
    return after ? after : machine.unknown(bits, "an atomic update of an unusual kind");
  });
  machine.set(machine.cells(op.to), old);
}

// A failed exchange writes back what it read (EventKind::update).
void exchange(SymbolicMachine& machine, const Op& op) {
  const Leaf& value = op.type->leaves[0];
  const Expr expected = machine.expression(machine.get(op.b), value.bits);
  const Expr wanted = machine.expression(machine.get(op.c), value.bits);
  Expr same;
  const Expr old = update_at(machine, *machine.get(op.a), value.bits, op, [&](Expr before) {
    same = machine.pool().binary(ExprOp::eq, before, expected);
    return machine.pool().ite(same, wanted, before);
  });
  machine.set(machine.cells(op.to), old);
  machine.set(machine.cells(op.to) + op.type->leaves[1].cell, same);
}

void fence(SymbolicMachine& machine, const Op& op) {
  Event& event = machine.add_event(EventKind::fence, op.instruction);
  event.order = static_cast<AccessOrder>(op.order);
}

// Objects whose address nobody else gets to know lie in a region of their own, by frames.
void stack_object(SymbolicMachine& machine, const Op& op) {
  const auto& object = *llvm::cast<llvm::AllocaInst>(op.instruction);
  const llvm::DataLayout& layout = object.getModule()->getDataLayout();
  uint64_t size = layout.getTypeAllocSize(object.getAllocatedType());
  const Cell* count = machine.get(op.a);
  if (object.isArrayAllocation() && !count->expression) size *= count->bits;
  machine.set(machine.cells(op.to), machine.new_stack_object(size, object.getAlign().value()));
}

}  // namespace

OpAction memory_action(const llvm::Instruction& instruction) {
  if (fence_ordering(instruction)) return fence;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::GetElementPtr:
      return address;
    case llvm::Instruction::Load:
      return load;
    case llvm::Instruction::Store:
      return store;
    case llvm::Instruction::AtomicRMW:
      return update;
    case llvm::Instruction::AtomicCmpXchg:
      return exchange;
    case llvm::Instruction::Fence:  // for the compiler only
      return no_effect;
    case llvm::Instruction::Alloca:
      return stack_object;
    default:
      return nullptr;
  }
}

}  // namespace heddle
