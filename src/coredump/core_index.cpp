#include "coredump/core_index.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <map>
#include <memory>

#include "program/counting_variables.h"

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
// arithmetic in them, spilling reads of memory.
std::optional<Located> locate(const CoreFile& core, const std::vector<uint8_t>& expression,
                              const CoreFrame& frame, const std::vector<uint8_t>& frame_base) {
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
      const std::optional<Located> base =
          frame_base.empty() ? std::nullopt : locate(core, frame_base, frame, {});
      if (base) pushed = base->number + static_cast<uint64_t>(offset);
    } else if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
      pushed = operation - DW_OP_lit0;
    } else if (operation == DW_OP_constu) {
      pushed = numbers.unsigned_number();
    } else if (operation == DW_OP_consts) {
      pushed = static_cast<uint64_t>(numbers.signed_number());
    } else if (operation == DW_OP_deref || operation == DW_OP_deref_size) {
      const size_t size = operation == DW_OP_deref ? 8 : numbers.byte();
      uint64_t value = 0;
      if (stack.empty() || size > 8 || core.read(stack.back(), &value, size) != size) return std::nullopt;
      stack.back() = value;
      continue;
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

class Recovery {
 public:
  Recovery(const CoreFile& core, const CodeMap& map, const ProgramRegions& regions)
      : core_(core), map_(map), regions_(regions) {}

  // How often the header was entered, for a frame that stands at an instruction inside of the loop.
  std::optional<uint64_t> count(const CoreFrame& frame, InstructionId at, uint32_t header) {
    const llvm::Instruction& place = regions_.program().instruction(at);
    const Loops& function = loops_of(*place.getFunction());
    const llvm::BasicBlock* block =
        regions_.of(regions_.program().id_of(*place.getFunction())).flow().block(header);
    const llvm::Loop* loop = function.loops.getLoopFor(block);
    if (loop == nullptr || loop->getHeader() != block) return std::nullopt;
    for (const CountingVariable& counting : counting_variables(*loop, function.loops, function.tree))
      if (const auto found = llvm::isa<llvm::AllocaInst>(counting.variable)
                                 ? count_in_memory(frame, counting, place, function.tree)
                                 : count_by_phi(frame, counting))
        return found;
    return std::nullopt;
  }

 private:
  struct Loops {
    // The analyses take functions that may be changed, and change nothing.
    explicit Loops(const llvm::Function& function) : tree(const_cast<llvm::Function&>(function)), loops(tree) {}
    llvm::DominatorTree tree;
    llvm::LoopInfo loops;
  };

  const Loops& loops_of(const llvm::Function& function) {
    std::unique_ptr<Loops>& loops = loops_[&function];
    if (!loops) loops = std::make_unique<Loops>(function);
    return *loops;
  }

  std::optional<uint64_t> value(const CoreFrame& frame, const llvm::Instruction& instruction) const {
    return value_in_frame(core_, frame, map_, regions_.program().id_of(instruction));
  }

  // Where the phi's value is dead already, that of the next round lives.
  std::optional<uint64_t> count_by_phi(const CoreFrame& frame, const CountingVariable& counting) const {
    const std::optional<uint64_t> base = counting.base == nullptr ? 0 : base_value(frame, *counting.base);
    if (!base) return std::nullopt;
    if (const auto now = value(frame, *counting.variable)) return counting.rounds(*now, *base);
    for (const llvm::Instruction* next : counting.next)
      if (const auto then = value(frame, *next)) return counting.rounds_by_next(*then, *base);
    return std::nullopt;
  }

  std::optional<uint64_t> base_value(const CoreFrame& frame, const llvm::Value& base) const {
    return frame_value(core_, frame, map_, regions_.program(), base);
  }

  std::optional<uint64_t> count_in_memory(const CoreFrame& frame, const CountingVariable& counting,
                                          const llvm::Instruction& at, const llvm::DominatorTree& tree) const {
    const auto found = value(frame, *counting.variable);
    if (!found) return std::nullopt;
    const llvm::Instruction& store = *counting.next[0];
    const bool ahead = store.getParent() == at.getParent() ? store.comesBefore(&at)
                                                           : tree.dominates(store.getParent(), at.getParent());
    return ahead ? counting.rounds_by_next(*found) : counting.rounds(*found);
  }

  const CoreFile& core_;
  const CodeMap& map_;
  const ProgramRegions& regions_;
  std::map<const llvm::Function*, std::unique_ptr<Loops>> loops_;
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

std::optional<Located> located_in(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                  const std::vector<ValueLocation>& locations) {
  const MachineFunction* code = map.code_at(frame.place());
  if (code == nullptr) return std::nullopt;
  for (const ValueLocation& location : locations)
    if (frame.place() >= location.range.begin && frame.place() < location.range.end)
      return locate(core, location.expression, frame, code->frame_base);
  return std::nullopt;
}

std::optional<uint64_t> content(const CoreFile& core, const std::optional<Located>& found) {
  if (!found) return std::nullopt;
  return found->is_address ? core.word(found->number) : std::optional(found->number);
}

}  // namespace

std::optional<uint64_t> value_in_frame(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                       InstructionId value) {
  return content(core, located_in(core, frame, map, map.locations_of(value)));
}

std::optional<uint64_t> frame_value(const CoreFile& core, const CoreFrame& frame, const CodeMap& map,
                                    const Program& program, const llvm::Value& value) {
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value))
    return content(core, located_in(core, frame, map,
                                    map.locations_of_argument(program.id_of(*argument->getParent()),
                                                              argument->getArgNo())));
  const auto& instruction = llvm::cast<llvm::Instruction>(value);
  const std::optional<Located> found =
      located_in(core, frame, map, map.locations_of(program.id_of(instruction)));
  if (!llvm::isa<llvm::AllocaInst>(instruction)) return content(core, found);
  return found && found->is_address ? std::optional(found->number) : std::nullopt;
}

CoreIndex index_of_stack(const CoreFile& core, const CoreStack& stack, const CodeMap& map,
                         const ProgramRegions& regions) {
  CoreIndex out;
  Recovery recovery(core, map, regions);
  for (const CoreFrame& frame : stack.frames) {
    const std::optional<FunctionId> function = frame.in_program ? map.function_at(frame.place()) : std::nullopt;
    if (!function) continue;
    IndexFrame entry{.function = *function,
                     .at = instruction_near(map, frame, *function),
                     .until = map.end_of_replacement(frame.place()),
                     .counts = {}};
    if (entry.at) {
      for (const uint32_t header : regions.of(*function).loops_of(regions.block_of(*entry.at))) {
        entry.counts.push_back(recovery.count(frame, *entry.at, header));
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
