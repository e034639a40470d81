#include "symex/variadic.h"

#include "symex/machine.h"

namespace heddle {
namespace {

constexpr uint32_t kGeneral = 6, kVector = 8;           // registers for arguments
constexpr uint64_t kGeneralArea = 48, kSaveArea = 176;  // bytes of the register save area
constexpr uint64_t kOverflow = 4096;                    // that the overflow area may have
constexpr uint64_t kListSize = 24;

}  // namespace

VariadicArguments collect_variadic(SymbolicMachine& machine, const llvm::CallBase& call) {
  VariadicArguments out;
  uint32_t general = 0, vector = 0;
  uint64_t overflow = 0;
  const unsigned named = call.getFunctionType()->getNumParams();
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value& argument = *call.getArgOperand(i);
    const ValueLayout& type = machine.code.layout(argument.getType());
    const bool in_memory = call.isByValArgument(i);
    const bool real = argument.getType()->isFloatingPointTy() || argument.getType()->isVectorTy();
    const bool x87 = argument.getType()->isX86_FP80Ty();
    const Cell* cells = machine.value(argument);
    if (in_memory) {
      const uint64_t size = call.getModule()->getDataLayout().getTypeAllocSize(call.getParamByValType(i));
      for (uint64_t at = 0; i >= named && !cells->expression && at < size; at += 8) {
        Cell word;
        machine.set(&word, machine.read_bytes(cells->bits + at,
                                              static_cast<unsigned>(std::min<uint64_t>(8, size - at))));
        out.overflow.push_back(
            {overflow + at, word, static_cast<uint32_t>(std::min<uint64_t>(8, size - at) * 8)});
      }
      overflow += (size + 7) / 8 * 8;
    } else if (x87) {
      overflow = (overflow + 15) / 16 * 16;
      for (const Leaf& leaf : type.leaves)
        if (i >= named) out.overflow.push_back({overflow, cells[leaf.cell], 64});
      overflow += 16;
    } else if (real && vector < kVector) {
      if (i >= named) out.registers.push_back({kGeneralArea + 16 * vector, *cells, type.leaves.front().bits});
      ++vector;
    } else if (!real && general + type.leaves.size() <= kGeneral) {
      for (const Leaf& leaf : type.leaves) {
        if (i >= named) out.registers.push_back({8 * general, cells[leaf.cell], leaf.bits});
        ++general;
      }
    } else {
      for (const Leaf& leaf : type.leaves) {
        if (i >= named) out.overflow.push_back({overflow, cells[leaf.cell], leaf.bits});
        overflow += 8;
      }
    }
    if (i < named) {
      out.general_used = general;
      out.vector_used = vector;
    }
  }
  return out;
}

void begin_variadic(SymbolicMachine& machine, const Op& op) {
  const std::optional<uint64_t> list = machine.address(*machine.get(op.a), op);
  if (!list) return;
  const uint64_t area = machine.new_stack_object(kSaveArea, 16),
                 overflow = machine.new_stack_object(kOverflow, 16);
  const VariadicArguments& arguments = machine.top().variadic;
  const auto write = [&](uint64_t base, const VariadicArguments::Part& part) {
    const unsigned bytes = (std::min<uint32_t>(part.bits, 64) + 7) / 8;
    const Expr value = machine.expression(&part.value, std::min<uint32_t>(part.bits, 64));
    machine.write_bytes(base + part.offset, machine.pool().zext(value, bytes * 8), bytes);
    machine.tell_bytes(base + part.offset, bytes);
  };
  for (const VariadicArguments::Part& part : arguments.registers) write(area, part);
  for (const VariadicArguments::Part& part : arguments.overflow) write(overflow, part);
  machine.write_bytes(*list, machine.pool().constant(arguments.general_used * 8, 32), 4);
  machine.write_bytes(*list + 4, machine.pool().constant(kGeneralArea + 16 * arguments.vector_used, 32), 4);
  machine.write_bytes(*list + 8, machine.pool().constant(overflow, 64), 8);
  machine.write_bytes(*list + 16, machine.pool().constant(area, 64), 8);
  machine.tell_bytes(*list, kListSize);
}

void copy_variadic(SymbolicMachine& machine, const Op& op) {
  const std::optional<uint64_t> to = machine.address(*machine.get(op.a), op);
  const std::optional<uint64_t> from = machine.address(*machine.get(op.b), op);
  if (to && from) machine.copy(*to, *from, kListSize, op);
}

}  // namespace heddle
