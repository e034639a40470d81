// Pointers copied in pieces: byte loops, halves, serialised pointers.
//
// A value of less than 64 bits holds no pointer, but a loop over such values can copy one. Treating every
// narrow load that is stored again as a copy of pointers would join everything: `b->length = a->length` stands
// in every program. So:
//   - a narrow load whose value is stored (through conversions, phi, select, shifts and or) copies contents,
//   unless one
//     of the two addresses is a constant offset from a pointer: then it is a field or an element of its own; or
//     the compiler has marked one of the two as an access to an int, short or the like (see type_marks.h);
//   - copies at constant offsets count together: when those between the same two objects cover 8 adjacent
//   bytes,
//     they copy contents after all (an unrolled loop);
//   - a byte cut out of a pointer-sized integer by a shift and stored, and a narrow load shifted by whole bytes
//     into one, carry what they were cut from.
// Not seen: bytes that travel through function arguments, results or arithmetic other than the above; a byte
// loop unrolled by hand where only one side has constant offsets.
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "program/pointer_flow.h"
#include "program/type_marks.h"

namespace heddle {

namespace {

// How far back from a store its sources are looked for; wide enough for a word put together from 8 bytes.
constexpr size_t kMaxTraced = 48;

struct Sources {
  llvm::SmallVector<const llvm::LoadInst*, 4> loads;  // narrow
  llvm::SmallVector<const llvm::Value*, 2> cut;       // pointer-sized values a shift cut a piece out of
};

bool is_narrow(const llvm::Type* type) {
  return (type->isIntegerTy() && type->getIntegerBitWidth() >= 8 && type->getIntegerBitWidth() < 64) ||
         type->isFloatTy() || type->isHalfTy();
}

bool shifts_whole_bytes(const llvm::Instruction& shift) {
  const auto* amount = llvm::dyn_cast<llvm::ConstantInt>(shift.getOperand(1));
  return amount == nullptr || (amount->getValue().getLimitedValue() % 8 == 0 && !amount->isZero());
}

bool passes_on(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PHI:
    case llvm::Instruction::Select:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::BitCast:
    case llvm::Instruction::Or:
      return true;
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return shifts_whole_bytes(instruction);
    case llvm::Instruction::And:  // masks one byte of a word
      return llvm::isa<llvm::ConstantInt>(instruction.getOperand(1));
    default:
      return false;
  }
}

Sources trace(const llvm::Value* from) {
  Sources sources;
  llvm::SmallVector<const llvm::Value*, 16> todo{from};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!todo.empty() && seen.size() < kMaxTraced) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(todo.pop_back_val());
    if (instruction == nullptr || !seen.insert(instruction).second) continue;
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction);
    if (load != nullptr && is_narrow(load->getType())) {
      sources.loads.push_back(load);
    } else if (passes_on(*instruction)) {
      const bool right_shift = instruction->getOpcode() == llvm::Instruction::LShr ||
                               instruction->getOpcode() == llvm::Instruction::AShr;
      if (right_shift && !is_narrow(instruction->getType())) sources.cut.push_back(instruction->getOperand(0));
      for (const llvm::Use& operand : instruction->operands()) todo.push_back(operand.get());
    }
  }
  return sources;
}

// A step of a walk (*++p), which goes on from there: the next round has it, in memory at -O0.
bool is_walked_on(const llvm::Value& address) {
  return llvm::any_of(address.users(), [&](const llvm::User* user) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    return llvm::isa<llvm::PHINode>(user) || (store != nullptr && store->getValueOperand() == &address);
  });
}

bool at_constant_offset(const llvm::Value* pointer) {
  const auto* address = llvm::dyn_cast<llvm::GEPOperator>(pointer);
  return address != nullptr && address->hasAllConstantIndices() && !is_walked_on(*address);
}

bool is_walked_back(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  const auto* address = llvm::dyn_cast<llvm::GEPOperator>(pointer);
  llvm::APInt distance(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  return address != nullptr && is_walked_on(*address) && address->accumulateConstantOffset(layout, distance) &&
         distance.isNegative();
}

// What a constant offset is counted from. At -O0 a pointer variable is loaded anew for every use of it.
struct Position {
  const llvm::Value* base = nullptr;
  int64_t offset = 0;
};

Position position_of(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(base)) base = load->getPointerOperand();
  return {base, offset.getSExtValue()};
}

// Copies at constant offsets between two objects, by the distance between source and destination.
using Group = std::tuple<const llvm::Value*, const llvm::Value*, int64_t>;
struct Pieces {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // of the source: [begin, end)
  const llvm::Value* to = nullptr;
  const llvm::Value* from = nullptr;
  int64_t at = 0;  // of these two
};

bool cover_a_pointer(Pieces& pieces) {
  std::ranges::sort(pieces.ranges);
  int64_t begin = pieces.ranges.front().first;
  int64_t end = begin;
  for (const auto& [first, last] : pieces.ranges) {
    if (first > end) begin = first;
    end = std::max(first > end ? last : end, last);
    if (end - begin >= 8) return true;
  }
  return false;
}

}  // namespace

void PointerFlow::visit_narrow_copies(const llvm::Function& function) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  std::map<Group, Pieces> groups;

  const auto visit_copy = [&](const llvm::StoreInst& store, const llvm::LoadInst& load) {
    if (is_marked_number(store) || is_marked_number(load)) return;
    const llvm::Value* to = store.getPointerOperand();
    const llvm::Value* from = load.getPointerOperand();
    if (!at_constant_offset(to) && !at_constant_offset(from)) {
      const bool back = is_walked_back(to, layout) && is_walked_back(from, layout);
      for (const llvm::Value* side : {to, from})
        if (back) graph_.fold_whole(target(side));
      return graph_.copy(target(to), target(from));
    }
    const Position target_position = position_of(to, layout);
    const Position source_position = position_of(from, layout);
    Pieces& pieces =
        groups[{target_position.base, source_position.base, target_position.offset - source_position.offset}];
    const auto size = static_cast<int64_t>(layout.getTypeStoreSize(load.getType()).getFixedValue());
    pieces.ranges.emplace_back(source_position.offset, source_position.offset + size);
    pieces.to = to;
    pieces.from = from;
    pieces.at = source_position.offset;
  };

  const auto visit_narrow_store = [&](const llvm::StoreInst& store) {
    const Sources sources = trace(store.getValueOperand());
    for (const llvm::LoadInst* load : sources.loads) visit_copy(store, *load);
    if (!store.getValueOperand()->getType()->isIntegerTy(8)) return;
    for (const llvm::Value* value : sources.cut) {
      const Carrier whole = carrier(value);
      this->store(whole, target(store.getPointerOperand()), true);
    }
  };

  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        if (is_narrow(store->getValueOperand()->getType())) visit_narrow_store(*store);
      } else if (instruction.getOpcode() == llvm::Instruction::Shl &&
                 carry_of(instruction.getType()) != Carry::nothing && shifts_whole_bytes(instruction)) {
        for (const llvm::LoadInst* piece : trace(instruction.getOperand(0)).loads) {
          if (!is_marked_number(*piece)) load(carrier(&instruction), target(piece->getPointerOperand()), false);
        }
      }
    }
  }
  for (auto& [group, pieces] : groups) {
    if (!cover_a_pointer(pieces)) continue;
    const int64_t begin = pieces.ranges.front().first - pieces.at;
    graph_.copy(graph_.displaced(target(pieces.to), begin), graph_.displaced(target(pieces.from), begin));
  }
}

}  // namespace heddle
