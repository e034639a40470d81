#include "symex/variadic.h"

#include "symex/machine.h"

namespace heddle {
namespace {

constexpr uint32_t kGeneral = 6, kVector = 8;           // registers for arguments
constexpr uint64_t kGeneralArea = 48, kSaveArea = 176;  // bytes of the register save area
constexpr uint64_t kListSize = 24;

uint64_t aligned(uint64_t offset, uint64_t to) {
  return (offset + to - 1) / to * to;
}

// One scalar, word by word.
void add_parts(SymbolicMachine& machine, uint64_t offset, const Leaf& leaf, const Cell* cells,
               std::vector<VariadicArguments::Part>& out) {
  const Cell& first = cells[leaf.cell];
  for (uint32_t done = 0; done < leaf.bits; done += 64) {
    const uint32_t bits = std::min<uint32_t>(leaf.bits - done, 64);
    Cell word = cells[leaf.cell + done / 64];
    if (first.expression && leaf.bits > 64)
      machine.set(&word, machine.pool().extract(first.expression, done, bits));
    out.push_back({offset + done / 8, word, bits});
  }
}

}  // namespace

VariadicArguments collect_variadic(SymbolicMachine& machine, const llvm::CallBase& call) {
  VariadicArguments out;
  uint32_t general = 0, vector = 0;
  uint64_t overflow = 0;
  const unsigned named = call.getFunctionType()->getNumParams();
  std::vector<VariadicArguments::Part> not_fetched;  // the named ones: their own code knows them
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value& argument = *call.getArgOperand(i);
    const llvm::Type& kind = *argument.getType();
    const ValueLayout& type = machine.code.layout(argument.getType());
    const Cell* cells = machine.value(argument);
    std::vector<VariadicArguments::Part>& in_registers = i < named ? not_fetched : out.registers;
    std::vector<VariadicArguments::Part>& in_memory = i < named ? not_fetched : out.overflow;
    const bool real = (kind.isFloatingPointTy() || kind.isVectorTy()) && !kind.isX86_FP80Ty();
    const bool fits_vector = type.bytes <= 16;                     // as without AVX
    const auto words = static_cast<uint32_t>(type.bytes + 7) / 8;  // general registers that it takes
    if (call.isByValArgument(i)) {
      overflow = aligned(overflow, std::max<uint64_t>(8, call.getParamAlign(i).valueOrOne().value()));
      const uint64_t size = call.getModule()->getDataLayout().getTypeAllocSize(call.getParamByValType(i));
      for (uint64_t at = 0; i >= named && !cells->expression && at < size; at += 8) {
        const auto bytes = static_cast<unsigned>(std::min<uint64_t>(8, size - at));
        Cell word;
        machine.set(&word, machine.read_bytes(cells->bits + at, bytes));
        in_memory.push_back({overflow + at, word, bytes * 8});
      }
      overflow = aligned(overflow + size, 8);
    } else if (real && fits_vector && vector < kVector) {
      for (const Leaf& leaf : type.leaves)
        add_parts(machine, kGeneralArea + 16 * vector + leaf.bit_offset / 8, leaf, cells, in_registers);
      ++vector;
    } else if (!real && !kind.isX86_FP80Ty() && general + words <= kGeneral) {
      for (const Leaf& leaf : type.leaves)
        add_parts(machine, 8 * general + leaf.bit_offset / 8, leaf, cells, in_registers);
      general += words;
    } else {
      if (type.bytes > 8) overflow = aligned(overflow, fits_vector ? 16 : type.bytes);
      for (const Leaf& leaf : type.leaves)
        add_parts(machine, overflow + leaf.bit_offset / 8, leaf, cells, in_memory);
      overflow = aligned(overflow + type.bytes, kind.isX86_FP80Ty() ? 16 : 8);
    }
    if (i < named) {
      out.general_used = general;
      out.vector_used = vector;
      out.overflow_used = overflow;
    }
  }
  out.overflow_size = overflow;
  return out;
}

void begin_variadic(SymbolicMachine& machine, const Op& op) {
  const std::optional<uint64_t> list = machine.address(*machine.get(op.a), op);
  if (!list) return;
  const VariadicArguments& arguments = machine.top().variadic;
  const uint64_t area = machine.new_stack_object(kSaveArea, 16),
                 overflow = machine.new_stack_object(arguments.overflow_size, 32);
  const auto write = [&](uint64_t base, const VariadicArguments::Part& part) {
    const unsigned bytes = (part.bits + 7) / 8;
    const Expr value = machine.expression(&part.value, part.bits);
    machine.write_bytes(base + part.offset, machine.pool().zext(value, bytes * 8), bytes);
    machine.tell_bytes(base + part.offset, bytes);
  };
  for (const VariadicArguments::Part& part : arguments.registers) write(area, part);
  for (const VariadicArguments::Part& part : arguments.overflow) write(overflow, part);
  machine.write_bytes(*list, machine.pool().constant(arguments.general_used * 8, 32), 4);
  machine.write_bytes(*list + 4, machine.pool().constant(kGeneralArea + 16 * arguments.vector_used, 32), 4);
  machine.write_bytes(*list + 8, machine.pool().constant(overflow + arguments.overflow_used, 64), 8);
  machine.write_bytes(*list + 16, machine.pool().constant(area, 64), 8);
  machine.tell_bytes(*list, kListSize);
}

void copy_variadic(SymbolicMachine& machine, const Op& op) {
  const std::optional<uint64_t> to = machine.address(*machine.get(op.a), op);
  const std::optional<uint64_t> from = machine.address(*machine.get(op.b), op);
  if (to && from) machine.copy(*to, *from, kListSize, op);
}

}  // namespace heddle
