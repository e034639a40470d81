#include "symex/program_image.h"

#include <llvm/IR/Operator.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "abi/hooks.h"

namespace heddle {
namespace {

// Addresses that no process has: not canonical.
constexpr uint64_t kFirstUnknown = uint64_t{0xffff} << 32 | uint64_t{1} << 60;
constexpr uint64_t kUnknownStep = 1 << 20;

uint64_t mask(uint64_t value, unsigned bits) {
  return value & low_bits(bits);
}

}  // namespace

bool ProgramImage::is_made_up(uint64_t address) {
  return address >> 48 == kFirstUnknown >> 48;
}

Expr ProgramImage::is_made_up(ExprPool& pool, Expr address) {
  return pool.binary(ExprOp::eq, pool.extract(address, 48, 16), pool.constant(kFirstUnknown >> 48, 16));
}

ProgramImage::ProgramImage(const llvm::Module& module, const ElfFile& variant, uint64_t load_base)
    : module_(module),
      layouts_(module.getDataLayout()),
      single_threaded_(module.getNamedGlobal("__libc_single_threaded")) {
  // Local symbols of other objects (the runtime, code without a model) may have the same names.
  std::map<std::pair<bool, std::string>, uint64_t> symbols, offsets;
  const auto add = [](auto& table, const std::vector<ElfSymbol>& from, uint64_t base) {
    for (const ElfSymbol& symbol : from)
      if (symbol.file.empty() || symbol.file == HEDDLE_VARIANT_SOURCE)
        table.emplace(std::pair(!symbol.file.empty(), symbol.name), symbol.address + base);
  };
  add(symbols, variant.functions(), load_base);
  add(symbols, variant.variables(), load_base);
  add(offsets, variant.thread_local_variables(), -variant.thread_local_size());
  uint64_t next_unknown = kFirstUnknown;
  const auto place = [&](const llvm::GlobalValue& value, const auto& table) {
    auto found = table.find({value.hasLocalLinkage(), value.getName().str()});
    if (found == table.end())  // hidden ones became local in the executable
      found = table.find({!value.hasLocalLinkage(), value.getName().str()});
    return addresses_[&value] = found != table.end() ? found->second : next_unknown += kUnknownStep;
  };
  for (const llvm::Function& function : module) functions_[place(function, symbols)] = &function;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isThreadLocal()) {
      place(variable, offsets);
      thread_locals_.push_back(&variable);
    } else {
      variables_[place(variable, symbols)] = &variable;
    }
  }
  for (const llvm::GlobalAlias& alias : module.aliases())
    if (const auto* object = llvm::dyn_cast_or_null<llvm::GlobalValue>(alias.getAliaseeObject()))
      addresses_[&alias] = address_of(*object);
  for (const llvm::GlobalIFunc& function : module.ifuncs()) place(function, symbols);
}

uint64_t ProgramImage::address_of(const llvm::GlobalValue& value) const {
  return addresses_.lookup(&value);
}

uint64_t ProgramImage::offset_of(const llvm::GlobalVariable& variable) const {
  return addresses_.lookup(&variable);
}

const llvm::Function* ProgramImage::function_at(uint64_t address) const {
  return functions_.lookup(address);
}

const llvm::GlobalVariable* ProgramImage::variable_at(uint64_t address) const {
  auto after = variables_.upper_bound(address);
  if (after == variables_.begin()) return nullptr;
  const auto& [begin, variable] = *--after;
  if (!variable->getValueType()->isSized()) return nullptr;
  const uint64_t size = module_.getDataLayout().getTypeAllocSize(variable->getValueType());
  return address - begin < size ? variable : nullptr;
}

void ProgramImage::evaluate(const llvm::Constant& constant, Cell* to) const {
  const ValueLayout& layout = layouts_.of(constant.getType());
  std::fill_n(to, layout.cells, Cell{});
  const auto set = [&](const llvm::APInt& value) {
    for (unsigned i = 0; i < value.getNumWords(); ++i) to[i].bits = value.getRawData()[i];
  };
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&constant);
      number != nullptr && !number->getType()->isVectorTy()) {
    set(number->getValue());
  } else if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&constant);
             real != nullptr && !real->getType()->isVectorTy()) {
    set(real->getValueAPF().bitcastToAPInt());
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(&constant)) {
    to->bits = address_of(*global);
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
    evaluate_expression(*expression, to);
  } else if (llvm::isa<llvm::ConstantAggregateZero, llvm::ConstantPointerNull, llvm::UndefValue,
                       llvm::ConstantTokenNone, llvm::BlockAddress>(constant)) {
    return;
  } else if (const auto* equivalent = llvm::dyn_cast<llvm::DSOLocalEquivalent>(&constant)) {
    to->bits = address_of(*equivalent->getGlobalValue());
  } else if (const auto* unchecked = llvm::dyn_cast<llvm::NoCFIValue>(&constant)) {
    to->bits = address_of(*unchecked->getGlobalValue());
  } else {
    unsigned count = 0;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant.getType())) {
      count = vector->getNumElements();
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(constant.getType())) {
      count = static_cast<unsigned>(array->getNumElements());
    } else if (auto* structure = llvm::dyn_cast<llvm::StructType>(constant.getType())) {
      count = structure->getNumElements();
    }
    for (unsigned i = 0; i < count; ++i) {
      const llvm::Constant* part = constant.getAggregateElement(i);
      if (part == nullptr) continue;
      evaluate(*part, to);
      to += layouts_.of(part->getType()).cells;
    }
  }
}

void ProgramImage::evaluate_expression(const llvm::ConstantExpr& expression, Cell* to) const {
  const auto operand = [&](unsigned i) {
    std::vector<Cell> cells(std::max<uint32_t>(layouts_.of(expression.getOperand(i)->getType()).cells, 1));
    evaluate(*expression.getOperand(i), cells.data());
    return cells;
  };
  const unsigned bits = expression.getType()->isPointerTy() ? 64 : expression.getType()->getScalarSizeInBits();
  if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(&expression)) {
    llvm::APInt offset(64, 0);
    if (address->accumulateConstantOffset(module_.getDataLayout(), offset))
      to->bits = operand(0)[0].bits + offset.getZExtValue();
    return;
  }
  switch (expression.getOpcode()) {
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::AddrSpaceCast:
    case llvm::Instruction::Trunc:
      to->bits = mask(operand(0)[0].bits, bits);
      return;
    case llvm::Instruction::BitCast: {
      const std::vector<Cell> from = operand(0);
      std::copy_n(from.data(), std::min<size_t>(from.size(), layouts_.of(expression.getType()).cells), to);
      return;
    }
    case llvm::Instruction::Add:
      to->bits = mask(operand(0)[0].bits + operand(1)[0].bits, bits);
      return;
    case llvm::Instruction::Sub:
      to->bits = mask(operand(0)[0].bits - operand(1)[0].bits, bits);
      return;
    case llvm::Instruction::Xor:
      to->bits = operand(0)[0].bits ^ operand(1)[0].bits;
      return;
    default:
      return;
  }
}

std::vector<uint8_t> ProgramImage::bytes_of(const llvm::Constant& constant) const {
  std::vector<uint8_t> out(module_.getDataLayout().getTypeAllocSize(constant.getType()));
  write_bytes(constant, out);
  return out;
}

void ProgramImage::write_bytes(const llvm::Constant& constant, std::span<uint8_t> to) const {
  const llvm::DataLayout& layout = module_.getDataLayout();
  if (constant.isNullValue() || llvm::isa<llvm::UndefValue>(constant)) return;
  if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&constant)) {
    const llvm::StringRef raw = data->getRawDataValues();
    std::memcpy(to.data(), raw.data(), std::min<size_t>(raw.size(), to.size()));
    return;
  }
  if (llvm::isa<llvm::ConstantStruct, llvm::ConstantArray>(constant)) {
    auto* structure = llvm::dyn_cast<llvm::StructType>(constant.getType());
    for (unsigned i = 0; i < constant.getNumOperands(); ++i) {
      const auto& part = *llvm::cast<llvm::Constant>(constant.getOperand(i));
      const uint64_t offset = structure != nullptr
                                  ? uint64_t{layout.getStructLayout(structure)->getElementOffset(i)}
                                  : i * uint64_t{layout.getTypeAllocSize(part.getType())};
      write_bytes(part, to.subspan(offset));
    }
    return;
  }
  const ValueLayout& of_value = layouts_.of(constant.getType());
  std::vector<Cell> cells(of_value.cells);
  evaluate(constant, cells.data());
  for (const Leaf& leaf : of_value.leaves)
    for (uint64_t bit = 0; bit < leaf.bits; ++bit)
      if ((cells[leaf.cell + bit / 64].bits >> (bit % 64) & 1) != 0)
        to[(leaf.bit_offset + bit) / 8] |= static_cast<uint8_t>(1 << ((leaf.bit_offset + bit) % 8));
}

void ProgramImage::fill(uint64_t page, std::span<uint8_t, SymbolicMemory::kPage> bytes,
                        std::span<uint64_t, SymbolicMemory::kPage / 64> known) const {
  const uint64_t begin = page * SymbolicMemory::kPage, end = begin + SymbolicMemory::kPage;
  auto at = variables_.upper_bound(begin);
  if (at != variables_.begin()) --at;
  for (; at != variables_.end() && at->first < end; ++at) {
    const llvm::GlobalVariable& variable = *at->second;
    if (&variable == single_threaded_ && at->first >= begin) {
      bytes[at->first - begin] = 1;
      known[(at->first - begin) / 64] |= uint64_t{1} << (at->first - begin) % 64;
    }
    if (!variable.hasInitializer() || !variable.getValueType()->isSized()) continue;
    const llvm::Constant& value = *variable.getInitializer();
    const uint64_t size = module_.getDataLayout().getTypeAllocSize(value.getType());
    const uint64_t from = std::max(begin, at->first), to = std::min(end, at->first + size);
    if (from >= to) continue;
    if (!value.isNullValue()) {
      const std::vector<uint8_t> whole = bytes_of(value);
      std::memcpy(bytes.data() + (from - begin), whole.data() + (from - at->first), to - from);
    }
    for (uint64_t i = from - begin; i < to - begin; ++i) known[i / 64] |= uint64_t{1} << (i % 64);
  }
  for (const auto& [address, memory] : memory_) {
    for (uint64_t at_byte = std::max(begin, address); at_byte < std::min(end, address + memory.size());
         ++at_byte) {
      bytes[at_byte - begin] = memory[at_byte - address];
      known[(at_byte - begin) / 64] |= uint64_t{1} << (at_byte - begin) % 64;
    }
  }
}

}  // namespace heddle
