// Whole ranges of memory: copied, filled, written and seen by code outside.
#include "symex/machine.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstring>

namespace heddle {
namespace {

constexpr uint64_t kLongestSymbolic = 512;  // bytes of a copy whose place or size is an expression

// As controlled runs do it (instrument/control_accesses.cpp): short copies between shared memory are a read and
// a write, others are one event.
bool copies_through_stack(const llvm::Instruction& instruction) {
  constexpr uint64_t kLargest = 256;
  const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  const auto* length = copy != nullptr ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
  return length != nullptr && length->getZExtValue() <= kLargest;
}

}  // namespace

// More than there is in the object, or more than any program copies: the size was computed from values that are
// wrong, as they are before all that is shared is known.
bool SymbolicMachine::is_too_long(uint64_t to, uint64_t size) {
  constexpr uint64_t kSmall = 4096, kLongest = uint64_t{1} << 26;
  if (size <= kSmall) return false;
  const Object object = object_at(to);
  if (object.size != 0 ? size <= object.begin + object.size - to : size <= kLongest) return false;
  mismatch("a copy that is too long");
  forget_from(to);
  return true;
}

// Bytes of the thread's own as they are: what was never written is copied as such, as the holes of a structure
// are.
bool SymbolicMachine::copy_own(uint64_t to, uint64_t from, uint64_t size) {
  std::vector<SymbolicMemory::Byte> bytes;
  bytes.reserve(size);
  for (uint64_t i = 0; i < size; ++i) {
    bytes.push_back(memory.byte(from + i));
    if (bytes.back().inherited) return false;
  }
  for (uint64_t i = 0; i < size; ++i) memory.set(to + i, bytes[i]);
  return true;
}

// Were a piece shared because one of its bytes is, and the next piece because another copy has its edges
// elsewhere, and so on, each pass over the threads would find one more.
unsigned SymbolicMachine::piece_at(uint64_t at, uint64_t left) const {
  const auto most = static_cast<unsigned>(std::min<uint64_t>(left, kPiece - at % kPiece));
  if (!is_shared(at, most) || shared.covers(at, most)) return most;
  const bool first = is_shared(at, 1);
  unsigned bytes = 1;
  while (bytes < most && is_shared(at + bytes, 1) == first) ++bytes;
  return bytes;
}

void SymbolicMachine::copy(uint64_t to, uint64_t from, uint64_t size, const Op& op) {
  if (size == 0) return unpass(op);
  if (is_too_long(to, size)) return;
  if (op.reads_shared) notes.note(from, size, false, epoch);
  if (op.writes_shared) notes.note(to, size, true, epoch);
  const bool reads = may_be_of_others(from, size), writes = is_shared(to, size);
  std::vector<uint8_t> plain(size);
  if (!reads && !writes && memory.read(from, plain)) return memory.write(to, plain);
  if (!reads && !writes && copy_own(to, from, size)) return;
  std::vector<Expr> parts;
  std::vector<unsigned> sizes;
  for (uint64_t done = 0; done < size;) {
    unsigned part = piece_at(from + done, size - done);
    if (writes && is_shared(to + done, part) && !shared.covers(to + done, part))
      part = piece_at(to + done, part);
    const bool event = reads && may_be_of_others(from + done, part);
    parts.push_back(event ? read_event(from + done, part, &op) : read_bytes(from + done, part));
    if (event && !op.reads_shared) trace.events.back().occurrence = 0;
    sizes.push_back(part);
    done += part;
  }
  const bool apart = op.reads_shared && op.writes_shared && copies_through_stack(*op.instruction);
  if (reads && apart) ++step;
  uint64_t done = 0;
  for (size_t i = 0; i < parts.size(); done += sizes[i++]) {
    write_bytes(to + done, parts[i], sizes[i]);
    if (!writes || !is_shared(to + done, sizes[i])) continue;
    write_event(to + done, parts[i], sizes[i], &op);
    trace.events.back().direct |= op.reads_shared && !apart;
    if (!op.writes_shared) trace.events.back().occurrence = 0;
  }
}

void SymbolicMachine::copy_at(const Cell& to, const Cell& from, uint64_t size, const Op& op) {
  if (!to.expression && !from.expression) return copy(to.bits, from.bits, size, op);
  if (size > kLongestSymbolic) return give_up_copy(to);
  const auto at = [&](const Cell& begin, uint64_t offset) {
    return pool().binary(ExprOp::add, begin.expression, pool().constant(offset, 64));
  };
  std::vector<Cell> parts;
  const size_t before = trace.events.size();
  for (uint64_t done = 0; done < size; done += kPiece) {
    Cell& part = parts.emplace_back();
    if (from.expression) {
      load(at(from, done), piece_of(size - done), &part, op);
    } else {
      load(from.bits + done, piece_of(size - done), &part, op);
    }
  }
  const size_t between = trace.events.size();
  for (uint64_t done = 0; done < size; done += kPiece) {
    const Cell& part = parts[done / kPiece];
    if (to.expression) {
      store(at(to, done), piece_of(size - done), &part, op);
    } else {
      store(to.bits + done, piece_of(size - done), &part, op);
    }
  }
  // Controlled runs have no event for a thread's own memory.
  for (size_t i = before; i < trace.events.size(); ++i)
    if (!(i < between ? op.reads_shared : op.writes_shared)) trace.events[i].occurrence = 0;
}

// The next bytes of a copy, as a number.
const ValueLayout& SymbolicMachine::piece_of(uint64_t left) {
  const auto bits = static_cast<unsigned>(std::min<uint64_t>(left, kPiece) * 8);
  return code.layout(llvm::IntegerType::get(code.program().module().getContext(), bits));
}

void SymbolicMachine::fill(uint64_t to, const Cell& byte, uint64_t size, const Op& op) {
  if (size == 0) return unpass(op);
  if (is_too_long(to, size)) return;
  if (op.writes_shared) notes.note(to, size, true, epoch);
  if (!byte.expression && !(is_shared(to, size)))
    return memory.write(to, std::vector<uint8_t>(size, static_cast<uint8_t>(byte.bits)));
  const Expr one = expression(&byte, 8);
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(to + done, size - done);
    Expr whole = one;
    for (unsigned i = 1; i < part; ++i) whole = pool().concat(whole, one);
    write_bytes(to + done, whole, part);
    if (is_shared(to + done, part)) write_event(to + done, whole, part, &op);
    done += part;
  }
}

void SymbolicMachine::write_from_outside(uint64_t to, std::span<const uint8_t> bytes, bool counts) {
  if (bytes.empty()) return;
  notes.note(to, bytes.size(), true, epoch);
  memory.write(to, bytes);
  if (!is_shared(to, bytes.size())) return;
  for (uint64_t done = 0; done < bytes.size();) {
    const unsigned part = piece_at(to + done, bytes.size() - done);
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + done, part);
    if (is_shared(to + done, part)) {
      write_event(to + done, pool().constant(bits, part * 8), part, nullptr);
      if (!counts) trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

void SymbolicMachine::write_from_outside(const Cell& to, std::span<const uint8_t> bytes, bool counts) {
  if (!to.expression) return write_from_outside(to.bits, bytes, counts);
  if (is_uncertain(to) || bytes.size() > kLongestSymbolic) return forget_behind(to);
  const Op op{.instruction = current_, .reads_shared = true, .writes_shared = true};
  for (uint64_t i = 0; i < bytes.size(); ++i) {
    const Cell byte{bytes[i], {}};
    const size_t before = trace.events.size();
    store(pool().binary(ExprOp::add, to.expression, pool().constant(i, 64)), piece_of(1), &byte, op);
    if (!counts && trace.events.size() != before) trace.events.back().occurrence = 0;
  }
}

// Code outside copies it: what others have written there, too.
void SymbolicMachine::see_bytes(uint64_t at, uint64_t size) {
  notes.note(at, size, false, epoch);
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(at + done, size - done);
    if (may_be_of_others(at + done, part)) {
      memory.write(at + done, read_event(at + done, part, nullptr), part);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

// What memory holds now was copied there by code outside: others must know.
void SymbolicMachine::tell_bytes(uint64_t at, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(at + done, size - done);
    if (is_shared(at + done, part)) {
      write_event(at + done, read_bytes(at + done, part), part, nullptr);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

// ---- addresses and sizes that are expressions

void SymbolicMachine::give_up_copy(const Cell& to) {
  unknown(1, "a long copy at an address, or of a size, that depends on shared memory");
  forget_behind(to);
}

// How many bytes there may be from the pointer on; 0: not known.
uint64_t SymbolicMachine::reach(const Cell& pointer) {
  const Object object = pointer.expression ? object_of(pointer.expression) : extent_at(pointer.bits);
  if (pointer.expression && object.size == 0) {
    asks_for_targets_ = true;
    return known_.largest_target;
  }
  misses_object_ |= object.size == 0;
  if (object.size == 0) return 0;
  return pointer.expression ? object.size : object.begin + object.size - pointer.bits;
}

// Where byte `i` lies if there are so many, which is to be seen: else where nothing is done by it.
Expr SymbolicMachine::place_of_byte(Expr begin, uint64_t i, Expr is_in) {
  const Object object = object_of(begin);
  return pool().ite(is_in, pool().binary(ExprOp::add, begin, pool().constant(i, 64)),
                    pool().constant(object.size != 0 ? object.begin : kLost, 64));
}

Expr SymbolicMachine::read_byte(const Cell& begin, uint64_t i, Expr is_in, const Op& op) {
  if (begin.expression) {
    Cell byte;
    load(place_of_byte(begin.expression, i, is_in), piece_of(1), &byte, op);
    return expression(&byte, 8);
  }
  const uint64_t at = begin.bits + i;
  if (op.reads_shared) notes.note(at, 1, false, epoch);
  return may_be_of_others(at, 1) ? read_event(at, 1, &op) : read_bytes(at, 1);
}

// The first bytes, how many is not known: each is written if it is one of them. An update reads and writes at
// once, so what others write to the rest meanwhile stays.
void SymbolicMachine::write_some(const Cell& to, std::span<const Expr> bytes, Expr size, const Op& op) {
  for (uint64_t i = 0; i < bytes.size(); ++i) {
    const Expr is_in = pool().binary(ExprOp::ult, pool().constant(i, pool().width(size)), size);
    const size_t before = trace.events.size();
    const auto change = [&](Expr old) { return pool().ite(is_in, bytes[i], old); };
    if (to.expression) {
      update(place_of_byte(to.expression, i, is_in), 8, op, change);
    } else {
      update(to.bits + i, 8, op, change);
    }
    if (trace.events.size() != before) trace.events.back().occurrence = 0;
  }
}

bool SymbolicMachine::is_uncertain(const Cell& cell) {
  return cell.expression && is_uncertain(cell.expression);
}

void SymbolicMachine::copy(const Cell& to, const Cell& from, const Cell& size, const Op& op) {
  const std::optional<uint64_t> known =
      size.expression ? recorded_value(size.expression) : std::optional(size.bits);
  if (known) return copy_at(to, from, *known, op);
  const uint64_t most = std::min(reach(to), reach(from));
  if (is_uncertain(to) || is_uncertain(from) || is_uncertain(size) || most == 0 || most > kLongestSymbolic)
    return give_up_copy(to);
  std::vector<Expr> bytes;
  for (uint64_t i = 0; i < most; ++i) {
    const size_t before = trace.events.size();
    const Expr is_in =
        pool().binary(ExprOp::ult, pool().constant(i, pool().width(size.expression)), size.expression);
    bytes.push_back(read_byte(from, i, is_in, op));
    if (trace.events.size() != before) trace.events.back().occurrence = 0;
  }
  write_some(to, bytes, size.expression, op);
}

void SymbolicMachine::fill(const Cell& to, const Cell& byte, const Cell& size, const Op& op) {
  const std::optional<uint64_t> known =
      size.expression ? recorded_value(size.expression) : std::optional(size.bits);
  if (known) return to.expression ? fill_at(to.expression, byte, *known, op) : fill(to.bits, byte, *known, op);
  const uint64_t most = reach(to);
  if (is_uncertain(to) || is_uncertain(size) || most == 0 || most > kLongestSymbolic) return give_up_copy(to);
  write_some(to, std::vector<Expr>(most, expression(&byte, 8)), size.expression, op);
}

void SymbolicMachine::fill_at(Expr to, const Cell& byte, uint64_t size, const Op& op) {
  if (size > kLongestSymbolic) return give_up_copy({0, to});
  const Expr one = expression(&byte, 8);
  for (uint64_t done = 0; done < size; done += kPiece) {
    const uint64_t part = std::min<uint64_t>(size - done, kPiece);
    Expr whole = one;
    for (uint64_t i = 1; i < part; ++i) whole = pool().concat(whole, one);
    Cell cell;
    set(&cell, whole);
    store(pool().binary(ExprOp::add, to, pool().constant(done, 64)), piece_of(size - done), &cell, op);
  }
}

}  // namespace heddle
