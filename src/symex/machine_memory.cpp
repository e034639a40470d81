// Loads, stores and read-modify-writes at addresses that are known.
#include "symex/machine.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstring>

namespace heddle {
namespace {

bool is_library_call(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction);
}

}  // namespace

std::optional<uint64_t> SymbolicMachine::address(const Cell& cell, const Op& op) {
  if (!cell.expression) return cell.bits;
  if (const std::optional<uint64_t> value = recorded_value(cell.expression)) return value;
  unknown(1, fmt::format("an address that depends on shared memory ({})", op.instruction->getOpcodeName()));
  return std::nullopt;
}

Expr SymbolicMachine::read_bytes(uint64_t address, unsigned bytes) {
  Expr out;
  for (unsigned i = 0; i < bytes; ++i) {
    const SymbolicMemory::Byte byte = memory.byte(address + i);
    Expr part;
    if (byte.expression) {
      part = pool().extract(byte.expression, byte.index * 8u, 8);
    } else if (byte.known && !byte.inherited) {
      part = pool().constant(byte.value, 8);
    } else {
      if (byte.inherited) also_share.add(address + i, 1);
      part = unknown(8, byte.inherited ? "a value that another thread had computed" : std::string(kNotWritten));
      memory.write(address + i, part, 1);
    }
    out = i == 0 ? part : pool().concat(part, out);
  }
  return out;
}

void SymbolicMachine::write_bytes(uint64_t address, Expr value, unsigned bytes) {
  if (pool().is_constant(value)) {
    const std::vector<uint64_t> words = pool().constant_words(value);
    memory.write(address, {reinterpret_cast<const uint8_t*>(words.data()), bytes});
  } else {
    memory.write(address, value, bytes);
  }
}

// An event is all of an access. If others know of some of its bytes only, the rest must be events too wherever
// it is accessed: the value of the event is made of both.
void SymbolicMachine::share_whole(uint64_t address, uint64_t size) {
  if (!shared.covers(address, size)) also_share.add(address, size);
}

// Memory of the program's image is never so.
void SymbolicMachine::note_unwritten(uint64_t address, uint64_t size) {
  for (uint64_t at = address; at < address + size; ++at)
    if (const SymbolicMemory::Byte byte = memory.byte(at); !byte.known) unwritten.insert(at);
}

std::optional<uint64_t> SymbolicMachine::likely_value(const Cell& cell) {
  if (!cell.expression) return cell.bits;
  asked_likely = true;
  return likely ? likely->value(cell.expression) : std::nullopt;
}

std::optional<uint64_t> SymbolicMachine::likely_bytes(uint64_t at, unsigned bytes) {
  uint64_t out = 0;
  for (unsigned i = 0; i < bytes && i < 8; ++i) {
    const SymbolicMemory::Byte byte = memory.byte(at + i);
    uint64_t value = byte.value;
    if (byte.expression) {
      const auto whole = likely->value(pool().extract(byte.expression, byte.index * 8u, 8));
      if (!whole) return std::nullopt;
      value = *whole;
    } else if (!byte.known || byte.inherited) {
      return std::nullopt;
    }
    out |= value << 8 * i;
  }
  return out;
}

void SymbolicMachine::note_likely_read(std::optional<uint64_t> at, unsigned bytes) {
  if (!likely) return;
  const auto event = static_cast<uint32_t>(trace.events.size() - 1);
  if (at)
    likely->read(event, *at, bytes, stamp_, likely_bytes(*at, bytes));
  else
    likely->read(event, UINT64_MAX, bytes, stamp_, std::nullopt);
}

Expr SymbolicMachine::read_event(uint64_t address, unsigned bytes, const Op* op) {
  if (known_.by_handlers.contains(address, bytes)) return unknown(bytes * 8, "what a signal handler writes");
  share_whole(address, bytes);
  note_unwritten(address, bytes);
  Event& event = add_event(EventKind::read, current_);
  event.address = address;
  event.size = bytes;
  if (op != nullptr) event.order = static_cast<AccessOrder>(op->order);
  note_likely_read(address, bytes);
  return pool().read(static_cast<uint32_t>(trace.events.size() - 1), bytes * 8);
}

void SymbolicMachine::write_event(uint64_t address, Expr value, unsigned bytes, const Op* op) {
  share_whole(address, bytes);
  Event& event = add_event(EventKind::write, current_);
  event.address = address;
  event.size = bytes;
  event.value = value;
  event.direct = op == nullptr || is_library_call(*op->instruction);
  if (likely) likely->wrote(address, stamp_);
  if (op != nullptr) event.order = static_cast<AccessOrder>(op->order);
}

// Of memory that others used as theirs before or after, a thread reads in an object of its own what it wrote.
bool SymbolicMachine::has_inherited(uint64_t address, unsigned bytes) {
  for (uint64_t at = address; at < address + bytes; ++at)
    if (memory.byte(at).inherited) return true;
  return false;
}

void SymbolicMachine::load(uint64_t at, const ValueLayout& type, Cell* to, const Op& op) {
  const auto bytes = static_cast<unsigned>(type.bytes);
  if (op.reads_shared) notes.note(at, bytes, false, epoch);
  const bool event = may_be_of_others(at, bytes) && (op.reads_shared || has_inherited(at, bytes));
  if (!event && type.leaves.size() == 1 && bytes <= 8) {
    uint64_t bits = 0;
    if (memory.read(at, {reinterpret_cast<uint8_t*>(&bits), bytes})) {
      set(to, bits & low_bits(type.leaves.front().bits));
      return;
    }
  }
  if (!event && type.whole_bytes) {
    for (const Leaf& leaf : type.leaves) {
      const unsigned size = (leaf.bits + 7) / 8;
      const Expr whole = read_bytes(at + leaf.bit_offset / 8, size);
      set(to + leaf.cell, pool().extract(whole, 0, leaf.bits));
    }
    return;
  }
  set_leaves(type, event ? read_event(at, bytes, &op) : read_bytes(at, bytes), to);
}

void SymbolicMachine::store(uint64_t at, const ValueLayout& type, const Cell* from, const Op& op) {
  const auto bytes = static_cast<unsigned>(type.bytes);
  if (op.writes_shared) notes.note(at, bytes, true, epoch);
  const bool event = is_shared(at, bytes);
  if (!event && type.leaves.size() == 1 && bytes <= 8 && !from->expression) {
    memory.write(at, {reinterpret_cast<const uint8_t*>(&from->bits), bytes});
    return;
  }
  const Expr whole = whole_value(type, from);
  write_bytes(at, whole, bytes);
  if (event) write_event(at, whole, bytes, &op);
}

// The bytes of a value as one number.
Expr SymbolicMachine::whole_value(const ValueLayout& type, const Cell* from) {
  Expr whole;  // leaves, the lowest first; what lies between them is 0
  unsigned done = 0;
  for (const Leaf& leaf : type.leaves) {
    const auto offset = static_cast<unsigned>(leaf.bit_offset);
    const auto append = [&](Expr part) { whole = done == 0 ? part : pool().concat(part, whole); };
    if (offset > done) append(pool().constant(std::vector<uint64_t>(words_of(offset - done)), offset - done));
    done = offset;
    append(expression(from + leaf.cell, leaf.bits));
    done += leaf.bits;
  }
  const auto bits = static_cast<unsigned>(type.bytes) * 8;
  return done < bits ? pool().zext(whole, bits) : whole;
}

void SymbolicMachine::set_leaves(const ValueLayout& type, Expr whole, Cell* to) {
  for (const Leaf& leaf : type.leaves)
    set(to + leaf.cell, pool().extract(whole, static_cast<unsigned>(leaf.bit_offset), leaf.bits));
}

Expr SymbolicMachine::update(uint64_t at, unsigned bits, const Op& op,
                             const std::function<Expr(Expr)>& change) {
  const unsigned bytes = (bits + 7) / 8;
  if (op.reads_shared) {
    notes.note(at, bytes, false, epoch);
    notes.note(at, bytes, true, epoch);
  }
  if (!is_shared(at, bytes)) {
    const Expr old = pool().extract(read_bytes(at, bytes), 0, bits);
    write_bytes(at, pool().zext(change(old), bytes * 8), bytes);
    return old;
  }
  share_whole(at, bytes);
  note_unwritten(at, bytes);
  Event& event = add_event(EventKind::update, current_);
  event.address = at;
  event.size = bytes;
  event.order = static_cast<AccessOrder>(op.order);
  note_likely_read(at, bytes);
  if (likely) likely->wrote(at, stamp_);
  const auto index = static_cast<uint32_t>(trace.events.size() - 1);
  Expr whole = pool().read(index, bytes * 8);
  if (known_.by_handlers.contains(at, bytes)) {
    whole = unknown(bytes * 8, "what a signal handler writes");
  } else if (is_alone()) {
    whole = read_bytes(at, bytes);
  }
  const Expr old = pool().extract(whole, 0, bits);
  const Expr written = pool().zext(change(old), bytes * 8);
  trace.events[index].value = written;
  write_bytes(at, written, bytes);
  return old;
}

}  // namespace heddle
