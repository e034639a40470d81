// Whole ranges of memory: copied, filled, written and seen by code outside.
#include "symex/machine.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstring>

namespace heddle {
namespace {

// As controlled runs do it (instrument/control_accesses.cpp): short copies between shared memory are a read and
// a write, others are one event.
bool copies_through_stack(const llvm::Instruction& instruction) {
  constexpr uint64_t kLargest = 256;
  const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  const auto* length = copy != nullptr ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
  return length != nullptr && length->getZExtValue() <= kLargest;
}

}  // namespace

// No program copies so much: the size was computed from values that are wrong, as they are before all that is
// shared is known.
bool Machine::is_too_long(uint64_t to, uint64_t size) {
  constexpr uint64_t kLongest = uint64_t{1} << 30;
  if (size <= kLongest) return false;
  mismatch("a copy that is too long");
  forget_from(to);
  return true;
}

// Were a piece shared because one of its bytes is, and the next piece because another copy has its edges
// elsewhere, and so on, each pass over the threads would find one more.
unsigned Machine::piece_at(uint64_t at, uint64_t left) const {
  const auto most = static_cast<unsigned>(std::min<uint64_t>(left, kPiece - at % kPiece));
  if (!is_shared(at, most) || shared.covers(at, most)) return most;
  const bool first = is_shared(at, 1);
  unsigned bytes = 1;
  while (bytes < most && is_shared(at + bytes, 1) == first) ++bytes;
  return bytes;
}

void Machine::copy(uint64_t to, uint64_t from, uint64_t size, const Op& op) {
  if (size == 0) return unpass(op);
  if (is_too_long(to, size)) return;
  if (op.reads_shared) notes.note(from, size, false, epoch);
  if (op.writes_shared) notes.note(to, size, true, epoch);
  const bool reads = is_shared(from, size), writes = is_shared(to, size);
  std::vector<uint8_t> plain(size);
  if (!reads && !writes && memory.read(from, plain)) return memory.write(to, plain);
  std::vector<Expr> parts;
  std::vector<unsigned> sizes;
  for (uint64_t done = 0; done < size;) {
    unsigned part = piece_at(from + done, size - done);
    if (writes && is_shared(to + done, part) && !shared.covers(to + done, part))
      part = piece_at(to + done, part);
    const bool event = reads && is_shared(from + done, part);
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

void Machine::copy(const Cell& to, const Cell& from, uint64_t size, const Op& op) {
  constexpr uint64_t kMost = 256;
  if (!to.expression && !from.expression) return copy(to.bits, from.bits, size, op);
  if (size > kMost) {
    unknown(1, "a long copy at an address that depends on shared memory");
    return forget_behind(to);
  }
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
const ValueLayout& Machine::piece_of(uint64_t left) {
  const auto bits = static_cast<unsigned>(std::min<uint64_t>(left, kPiece) * 8);
  return code.layout(llvm::IntegerType::get(code.program().module().getContext(), bits));
}

void Machine::fill(uint64_t to, const Cell& byte, uint64_t size, const Op& op) {
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

void Machine::write_from_outside(uint64_t to, std::span<const uint8_t> bytes, bool counts) {
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

// Code outside copies it: what others have written there, too.
void Machine::see_bytes(uint64_t at, uint64_t size) {
  notes.note(at, size, false, epoch);
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(at + done, size - done);
    if (is_shared(at + done, part)) {
      memory.write(at + done, read_event(at + done, part, nullptr), part);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

// What memory holds now was copied there by code outside: others must know.
void Machine::tell_bytes(uint64_t at, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(at + done, size - done);
    if (is_shared(at + done, part)) {
      write_event(at + done, read_bytes(at + done, part), part, nullptr);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

}  // namespace heddle
