#include "coredump/core_index.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace heddle {
namespace {

// Numbers of DWARF expressions, without trusting that they end.
class Numbers {
 public:
  explicit Numbers(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  bool done() const { return at_ >= bytes_.size(); }
  uint8_t byte() { return done() ? 0 : bytes_[at_++]; }
  uint64_t unsigned_number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0) break;
    }
    return value;
  }
  int64_t signed_number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const uint8_t next = byte();
      value |= uint64_t{next & 0x7fu} << shift;
      shift += 7;
      if ((next & 0x80) != 0) continue;
      if ((next & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      break;
    }
    return static_cast<int64_t>(value);
  }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
};

// A location is a value, or the address of one.
struct Located {
  uint64_t number = 0;
  bool is_address = false;
};

std::optional<uint64_t> combined(uint8_t operation, uint64_t left, uint64_t right) {
  switch (operation) {
    case llvm::dwarf::DW_OP_and:
      return left & right;
    case llvm::dwarf::DW_OP_or:
      return left | right;
    case llvm::dwarf::DW_OP_xor:
      return left ^ right;
    case llvm::dwarf::DW_OP_plus:
      return left + right;
    case llvm::dwarf::DW_OP_minus:
      return left - right;
    case llvm::dwarf::DW_OP_mul:
      return left * right;
    case llvm::dwarf::DW_OP_div:
      if (right == 0 || right == UINT64_MAX) return std::nullopt;
      return static_cast<uint64_t>(static_cast<int64_t>(left) / static_cast<int64_t>(right));
    case llvm::dwarf::DW_OP_shl:
      return right < 64 ? left << right : 0;
    case llvm::dwarf::DW_OP_shr:
      return right < 64 ? left >> right : 0;
    case llvm::dwarf::DW_OP_shra:
      return static_cast<uint64_t>(static_cast<int64_t>(left) >> std::min<uint64_t>(right, 63));
    default:
      return std::nullopt;
  }
}

// A DWARF expression, as far as code generation writes them for single values: strength reduction leaves
// arithmetic in them.
std::optional<Located> locate(const std::vector<uint8_t>& expression, const CoreFrame& frame,
                              const std::vector<uint8_t>& frame_base) {
  using namespace llvm::dwarf;
  Numbers numbers(expression);
  std::vector<uint64_t> stack;
  bool is_value = false;
  const auto register_value = [&](unsigned number) {
    return number < frame.registers.size() ? frame.registers[number] : std::nullopt;
  };
  while (!numbers.done()) {
    const uint8_t operation = numbers.byte();
    std::optional<uint64_t> pushed;
    if (operation >= DW_OP_reg0 && operation <= DW_OP_reg31) {
      pushed = register_value(operation - DW_OP_reg0);
      is_value = true;
    } else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
      const int64_t offset = numbers.signed_number();
      pushed = register_value(operation - DW_OP_breg0);
      if (pushed) *pushed += static_cast<uint64_t>(offset);
    } else if (operation == DW_OP_fbreg) {
      const int64_t offset = numbers.signed_number();
      const std::optional<Located> base = frame_base.empty() ? std::nullopt : locate(frame_base, frame, {});
      if (base) pushed = base->number + static_cast<uint64_t>(offset);
    } else if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
      pushed = operation - DW_OP_lit0;
    } else if (operation == DW_OP_constu) {
      pushed = numbers.unsigned_number();
    } else if (operation == DW_OP_consts) {
      pushed = static_cast<uint64_t>(numbers.signed_number());
    } else if (operation == DW_OP_stack_value) {
      is_value = true;
      continue;
    } else if (operation == DW_OP_plus_uconst && !stack.empty()) {
      stack.back() += numbers.unsigned_number();
      continue;
    } else if (operation == DW_OP_neg && !stack.empty()) {
      stack.back() = 0 - stack.back();
      continue;
    } else if (stack.size() >= 2) {
      const uint64_t right = stack.back();
      stack.pop_back();
      pushed = combined(operation, stack.back(), right);
      stack.pop_back();
    }
    if (!pushed || stack.size() > 64) return std::nullopt;
    stack.push_back(*pushed);
  }
  return stack.empty() ? std::nullopt : std::optional(Located{stack.back(), !is_value});
}

const llvm::ConstantInt* constant(const llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

// `value` is `of` plus a constant that is not zero.
const llvm::ConstantInt* step_from(const llvm::Value* value, const llvm::Value* of) {
  const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (add == nullptr || add->getOpcode() != llvm::Instruction::Add || add->getOperand(0) != of) return nullptr;
  const llvm::ConstantInt* step = constant(add->getOperand(1));
  return step != nullptr && !step->isZero() ? step : nullptr;
}

// How a variable that counts the iterations begins and grows.
struct Counting {
  const llvm::Instruction* variable;  // a phi, or a place in memory
  int64_t start, step;
  unsigned bits;
};

std::optional<Counting> counting_phi(const llvm::PHINode& phi, const FunctionRegions& regions,
                                     uint32_t header) {
  const llvm::ConstantInt* start = nullptr;
  const llvm::ConstantInt* step = nullptr;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const bool inside = regions.in_loop(header, regions.flow().number(phi.getIncomingBlock(i)));
    const llvm::ConstantInt* found =
        inside ? step_from(phi.getIncomingValue(i), &phi) : constant(phi.getIncomingValue(i));
    const llvm::ConstantInt*& known = inside ? step : start;
    if (found == nullptr || (known != nullptr && known != found)) return std::nullopt;
    known = found;
  }
  if (start == nullptr || step == nullptr || phi.getType()->getIntegerBitWidth() > 64) return std::nullopt;
  return Counting{&phi, start->getSExtValue(), step->getSExtValue(), phi.getType()->getIntegerBitWidth()};
}

// Without optimisation variables live in memory: set to a constant right before the loop, changed by a constant
// at one place in it.
std::optional<Counting> counting_memory(const llvm::AllocaInst& place, const FunctionRegions& regions,
                                        uint32_t header) {
  if (!place.getAllocatedType()->isIntegerTy() || place.getAllocatedType()->getIntegerBitWidth() > 64)
    return std::nullopt;
  const llvm::ConstantInt* start = nullptr;
  const llvm::ConstantInt* step = nullptr;
  for (const llvm::User* user : place.users()) {
    if (llvm::isa<llvm::LoadInst>(user)) continue;
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getPointerOperand() != &place) {
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
          call != nullptr && call->getIntrinsicID() != 0)
        continue;
      return std::nullopt;
    }
    if (regions.in_loop(header, regions.flow().number(store->getParent()))) {
      const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(store->getValueOperand());
      const auto* load = add != nullptr ? llvm::dyn_cast<llvm::LoadInst>(add->getOperand(0)) : nullptr;
      if (step != nullptr || load == nullptr || load->getPointerOperand() != &place) return std::nullopt;
      step = step_from(add, load);
      if (step == nullptr) return std::nullopt;
      // In the innermost loop that is meant, and in every iteration.
      if (regions.loops_of(regions.flow().number(store->getParent())).back() != header) return std::nullopt;
    } else {
      if (start != nullptr) return std::nullopt;
      start = constant(store->getValueOperand());
      if (start == nullptr) return std::nullopt;
    }
  }
  if (start == nullptr || step == nullptr) return std::nullopt;
  return Counting{&place, start->getSExtValue(), step->getSExtValue(),
                  place.getAllocatedType()->getIntegerBitWidth()};
}

int64_t extended(uint64_t value, unsigned bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

class Recovery {
 public:
  Recovery(const CoreFile& core, const CodeMap& map, const ProgramRegions& regions)
      : core_(core), map_(map), regions_(regions) {}

  std::optional<uint64_t> count(const CoreFrame& frame, FunctionId function, uint32_t header) const {
    const FunctionRegions& regions = regions_.of(function);
    for (const llvm::PHINode& phi : regions.flow().block(header)->phis())
      if (phi.getType()->isIntegerTy())
        if (const std::optional<Counting> counting = counting_phi(phi, regions, header))
          if (const auto count = iterations(frame, *counting)) return count;
    for (const llvm::Instruction& instruction : regions_.program().function(function).getEntryBlock())
      if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
        if (const std::optional<Counting> counting = counting_memory(*place, regions, header))
          if (const auto count = iterations(frame, *counting)) return count;
    return std::nullopt;
  }

 private:
  std::optional<uint64_t> iterations(const CoreFrame& frame, const Counting& counting) const {
    const std::optional<uint64_t> value =
        value_in_frame(core_, frame, map_, regions_.program().id_of(*counting.variable));
    if (!value) return std::nullopt;
    const int64_t rounds = extended(*value, counting.bits) - counting.start;
    if (rounds % counting.step != 0 || rounds / counting.step < 0) return std::nullopt;
    return static_cast<uint64_t>(rounds / counting.step) + 1;
  }

  const CoreFile& core_;
  const CodeMap& map_;
  const ProgramRegions& regions_;
};

// Code that stands for several instructions (merged ends of blocks) belongs to no line: what comes before it
// tells the block.
std::optional<InstructionId> instruction_near(const CodeMap& map, const CoreFrame& frame, FunctionId function) {
  constexpr uint64_t kNear = 24;
  for (uint64_t back = 0; back <= kNear; ++back) {
    const uint64_t address = frame.place() - back;
    if (map.function_at(address) != function) break;
    if (const std::optional<InstructionId> found = map.instruction_at(address)) return found;
  }
  return std::nullopt;
}

}  // namespace

namespace {

std::optional<Located> located_in(const CoreFrame& frame, const CodeMap& map,
                                  const std::vector<ValueLocation>& locations) {
  const MachineFunction* code = map.code_at(frame.place());
  if (code == nullptr) return std::nullopt;
  for (const ValueLocation& location : locations)
    if (frame.place() >= location.range.begin && frame.place() < location.range.end)
      return locate(location.expression, frame, code->frame_base);
  return std::nullopt;
}

std::optional<uint64_t> content(const CoreFile& core, const std::optional<Located>& found) {
  if (!found) return std::nullopt;
  return found->is_address ? core.word(found->number) : std::optional(found->number);
}

}  // namespace

std::optional<uint64_t> value_in_frame(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                       InstructionId value) {
  return content(core, located_in(frame, map, map.locations_of(value)));
}

std::optional<uint64_t> frame_value(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                    const Program& program, const llvm::Value& value) {
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value))
    return content(core, located_in(frame, map,
                                    map.locations_of_argument(program.id_of(*argument->getParent()),
                                                              argument->getArgNo())));
  const auto& instruction = llvm::cast<llvm::Instruction>(value);
  const std::optional<Located> found = located_in(frame, map, map.locations_of(program.id_of(instruction)));
  if (!llvm::isa<llvm::AllocaInst>(instruction)) return content(core, found);
  return found && found->is_address ? std::optional(found->number) : std::nullopt;
}

CoreIndex index_of_stack(const CoreFile& core, const CoreStack& stack, const CodeMap& map,
                         const ProgramRegions& regions) {
  CoreIndex out;
  const Recovery recovery(core, map, regions);
  for (const CoreFrame& frame : stack.frames) {
    const std::optional<FunctionId> function = frame.in_program ? map.function_at(frame.place()) : std::nullopt;
    if (!function) continue;
    IndexFrame entry{.function = *function, .at = instruction_near(map, frame, *function), .counts = {}};
    if (entry.at) {
      for (const uint32_t header : regions.of(*function).loops_of(regions.block_of(*entry.at))) {
        entry.counts.push_back(recovery.count(frame, *function, header));
        if (!entry.counts.back()) ++out.unknown_counts;
      }
    } else {
      ++out.unknown_places;
    }
    out.index.frames.push_back(std::move(entry));
    out.frames.push_back(&frame);
  }
  std::ranges::reverse(out.index.frames);
  std::ranges::reverse(out.frames);
  return out;
}

}  // namespace heddle
