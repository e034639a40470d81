#include "symex/machine.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstring>

#include "program/source_place.h"

namespace heddle {
namespace {

constexpr unsigned kPiece = 8;  // bytes of an access of library code
// Where stack objects lie that only their own code knows, of each thread elsewhere: no process has such
// addresses.
constexpr uint64_t kPrivateStack = uint64_t{1} << 61, kPrivateStackSize = uint64_t{1} << 40;

bool is_library_call(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction);
}

// As controlled runs do it (instrument/control_accesses.cpp): short copies between shared memory are a read and
// a write, others are one event.
bool copies_through_stack(const llvm::Instruction& instruction) {
  constexpr uint64_t kLargest = 256;
  const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  const auto* length = copy != nullptr ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
  return length != nullptr && length->getZExtValue() <= kLargest;
}

}  // namespace

Machine::Machine(CodeCache& code_, SymbolicMemory memory_, const SharedBytes& shared_, const Objects& objects,
                 ApproximationList& approximations, uint32_t thread)
    : code(code_),
      memory(std::move(memory_)),
      shared(shared_),
      objects_(objects),
      approximations_(approximations),
      thread_(thread) {}

// ---- frames

void Machine::settle() {
  if (frames.empty()) {
    registers_ = nullptr;
    constants_ = nullptr;
    return;
  }
  registers_ = stack_.data() + frames.back().base;
  constants_ = frames.back().code->constants.data();
}

void Machine::push(const FunctionOps& function) {
  const size_t base = frames.empty() ? 0 : frames.back().base + frames.back().code->cells;
  const uint32_t from = frames.empty() ? 0 : place_here();
  if (stack_.size() < base + function.cells) stack_.resize(2 * (base + function.cells));
  std::fill_n(stack_.data() + base, function.cells, Cell{});
  const uint64_t stack = frames.empty() ? kPrivateStack + thread_ * kPrivateStackSize : frames.back().stack;
  frames.push_back({.code = &function, .base = base, .called_from = from, .stack = stack});
  settle();
}

void Machine::pop() {
  frames.pop_back();
  settle();
}

void Machine::run_to_stop() {
  Frame& frame = top();
  const Op* const ops = frame.code->ops.data();
  uint32_t next = frame.next;
  for (; ops[next].stop == Stop::none; ++next) {
    current_ = ops[next].instruction;
    if (ops[next].counts) pass(*current_);
    ops[next].run(*this, ops[next]);
  }
  instructions += next - frame.next;
  frame.next = next;
  current_ = ops[next].instruction;
}

// ---- values

Expr Machine::expression(const Cell* cell, unsigned bits) {
  if (cell->expression) return cell->expression;
  if (bits <= 64) return pool().constant(cell->bits, bits);
  std::vector<uint64_t> words(words_of(bits));
  for (size_t i = 0; i < words.size(); ++i) words[i] = cell[i].bits;
  return pool().constant(words, bits);
}

void Machine::set(Cell* to, Expr value) {
  if (!pool().is_constant(value)) {
    *to = {0, value};
    return;
  }
  const unsigned bits = pool().width(value);
  if (bits <= 64) {
    *to = {pool().constant_bits(value), {}};
    return;
  }
  const std::vector<uint64_t> words = pool().constant_words(value);
  for (size_t i = 0; i < words.size(); ++i) to[i] = {words[i], {}};
}

bool Machine::is_concrete(const Cell* cells, uint32_t count) const {
  return std::all_of(cells, cells + count, [](const Cell& cell) { return !cell.expression; });
}

Expr Machine::unknown(unsigned bits, const std::string& why) {
  const uint32_t place = place_here();
  const auto [found, added] = causes_.try_emplace({why, place}, 0);
  if (added) found->second = approximations_.add({.what = why, .thread = thread_, .place = place});
  return pool().unknown(found->second, bits);
}

void Machine::set_unknown(const Op& op, const std::string& why) {
  for (const Leaf& leaf : op.type->leaves) cells(op.to)[leaf.cell] = {0, unknown(leaf.bits, why)};
}

void unknown_result(Machine& machine, const Op& op) {
  machine.set_unknown(op, fmt::format("the result of {}", op.instruction->getOpcodeName()));
}

void no_effect(Machine&, const Op&) {}

// ---- memory

std::optional<uint64_t> Machine::address(const Cell& cell, const Op& op) {
  if (!cell.expression) return cell.bits;
  if (const std::optional<uint64_t> value = recorded_value(cell.expression)) return value;
  unknown(1, fmt::format("an address that depends on shared memory ({})", op.instruction->getOpcodeName()));
  return std::nullopt;
}

Expr Machine::read_bytes(uint64_t address, unsigned bytes) {
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
      part = unknown(8, byte.inherited ? "a value that another thread had computed"
                                       : "memory that the program has not written");
      memory.write(address + i, part, 1);
    }
    out = i == 0 ? part : pool().concat(part, out);
  }
  return out;
}

void Machine::write_bytes(uint64_t address, Expr value, unsigned bytes) {
  if (pool().is_constant(value)) {
    const std::vector<uint64_t> words = pool().constant_words(value);
    memory.write(address, {reinterpret_cast<const uint8_t*>(words.data()), bytes});
  } else {
    memory.write(address, value, bytes);
  }
}

// An event is all of an access. If others know of some of its bytes only, the rest must be events too wherever
// it is accessed: the value of the event is made of both.
void Machine::share_whole(uint64_t address, uint64_t size) {
  if (!shared.covers(address, size)) also_share.add(address, size);
}

Expr Machine::read_event(uint64_t address, unsigned bytes, const Op* op) {
  share_whole(address, bytes);
  Event& event = add_event(EventKind::read, current_);
  event.address = address;
  event.size = bytes;
  if (op != nullptr) event.order = static_cast<AccessOrder>(op->order);
  return pool().read(static_cast<uint32_t>(trace.events.size() - 1), bytes * 8);
}

void Machine::write_event(uint64_t address, Expr value, unsigned bytes, const Op* op) {
  share_whole(address, bytes);
  Event& event = add_event(EventKind::write, current_);
  event.address = address;
  event.size = bytes;
  event.value = value;
  event.direct = op == nullptr || is_library_call(*op->instruction);
  if (op != nullptr) event.order = static_cast<AccessOrder>(op->order);
}

void Machine::load(uint64_t at, const ValueLayout& type, Cell* to, const Op& op) {
  const auto bytes = static_cast<unsigned>(type.bytes);
  if (op.reads_shared) notes.note(at, bytes, false, epoch);
  const bool event = is_shared(at, bytes);
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

void Machine::store(uint64_t at, const ValueLayout& type, const Cell* from, const Op& op) {
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
Expr Machine::whole_value(const ValueLayout& type, const Cell* from) {
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

void Machine::set_leaves(const ValueLayout& type, Expr whole, Cell* to) {
  for (const Leaf& leaf : type.leaves)
    set(to + leaf.cell, pool().extract(whole, static_cast<unsigned>(leaf.bit_offset), leaf.bits));
}

Expr Machine::update(uint64_t at, unsigned bits, const Op& op, const std::function<Expr(Expr)>& change) {
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
  Event& event = add_event(EventKind::update, current_);
  event.address = at;
  event.size = bytes;
  event.order = static_cast<AccessOrder>(op.order);
  const auto index = static_cast<uint32_t>(trace.events.size() - 1);
  const Expr old = pool().extract(pool().read(index, bytes * 8), 0, bits);
  const Expr written = pool().zext(change(old), bytes * 8);
  trace.events[index].value = written;
  write_bytes(at, written, bytes);
  return old;
}

// ---- addresses that are expressions

Machine::Object Machine::object_at(uint64_t at) const {
  if (const llvm::GlobalVariable* variable = code.image().variable_at(at))
    return {code.image().address_of(*variable),
            variable->getParent()->getDataLayout().getTypeAllocSize(variable->getValueType())};
  const auto in = [at](const auto& map, auto size_of) -> Object {
    auto after = map.upper_bound(at);
    if (after == map.begin()) return {};
    --after;
    const uint64_t size = size_of(after->second);
    return at - after->first < size ? Object{after->first, size} : Object{};
  };
  const auto size_itself = [](uint64_t size) { return size; };
  if (const Object block = in(blocks, [](const MemoryBlock& each) { return each.size; }); block.size != 0)
    return block;
  if (const Object own = in(stack_objects_, size_itself); own.size != 0) return own;
  return in(objects_, size_itself);
}

void Machine::add_objects(Objects& all) const {
  const auto add = [&](uint64_t at, uint64_t size) { all[at] = std::max(all[at], size); };
  for (const auto& [at, block] : blocks) add(at, block.size);
  for (const auto& [at, size] : stack_objects_) add(at, size);
}

void Machine::forget(uint64_t at, uint64_t size, const std::string& why) {
  notes.note(at, size, true, epoch);
  memory.forget(at, size);
  if (!is_shared(at, size)) return;
  for (uint64_t done = 0; done < size;) {
    const auto part = static_cast<unsigned>(std::min<uint64_t>(size - done, kPiece - (at + done) % kPiece));
    if (is_shared(at + done, part)) {
      const Expr value = unknown(part * 8, why);
      memory.write(at + done, value, part);
      write_event(at + done, value, part, nullptr);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

void Machine::forget_behind(const Cell& pointer) {
  if (pointer.expression) return forget_object(pointer.expression);
  forget_from(pointer.bits);
}

void Machine::forget_from(uint64_t at) {
  constexpr uint64_t kMost = 1 << 20;
  const Object object = object_at(at);
  misses_object_ |= object.size == 0;
  if (object.size != 0)
    forget(at, std::min(object.begin + object.size - at, kMost), "what code outside may have written");
}

// The address of an element is that of its object, or of a part of it, plus something.
Machine::Object Machine::object_of(Expr address) const {
  if (trace.pool.is_constant(address)) return object_at(trace.pool.constant_bits(address));
  const ExprNode& node = trace.pool.node(address);
  if (node.op == ExprOp::add) {
    const Object found = object_of(Expr{node.a});
    return found.size != 0 ? found : object_of(Expr{node.b});
  }
  if (node.op == ExprOp::ite) {
    const Object yes = object_of(Expr{node.b}), no = object_of(Expr{node.c});
    if (yes.begin == no.begin) return yes;
  }
  return {};
}

// In memory of which nothing is known, a library's: a part of the address is an address, and not in an object.
bool Machine::is_outside(Expr address) const {
  constexpr uint64_t kLowest = uint64_t{1} << 32, kHighest = uint64_t{1} << 47;
  const ExprNode& node = trace.pool.node(address);
  if (node.op == ExprOp::add) return is_outside(Expr{node.a}) || is_outside(Expr{node.b});
  if (node.op != ExprOp::constant) return false;
  const uint64_t bits = trace.pool.constant_bits(address);
  return kLowest < bits && bits < kHighest && object_at(bits).size == 0;
}

bool Machine::is_uncertain(Expr e) {
  while (uncertain_.size() <= e.number) {  // operands come first
    const ExprNode& node = trace.pool.node(Expr{static_cast<uint32_t>(uncertain_.size())});
    const std::array<Expr, 3> operands = operands_of(node);
    uncertain_.push_back(node.op == ExprOp::unknown || std::ranges::any_of(operands, [&](Expr operand) {
                           return operand && uncertain_[operand.number];
                         }));
  }
  return uncertain_[e.number];
}

void Machine::forget_object(Expr address) {
  constexpr uint64_t kMost = 1 << 20;
  const Object object = object_of(address);
  misses_object_ |= object.size == 0;
  const uint64_t size = std::min(object.size, kMost);
  const std::string why = "a write at an address of which nothing is known";
  unknown(1, why);
  if (size != 0) forget(object.begin, size, why);
}

Event& Machine::symbolic_event(EventKind kind, Expr address, unsigned bytes, const Op& op) {
  constexpr uint64_t kLargest = uint64_t{1} << 28;
  const Object object = object_of(address);
  if (object.size != 0 && object.size < kLargest) {
    also_share.add(object.begin, object.size);
  } else if (kind != EventKind::read) {
    unknown(1, "a write at an address of which nothing is known");
  }
  Event& event = add_event(kind, current_);
  event.address = object.begin;
  event.address_expression = address;
  event.object = object.begin;
  event.object_size = object.size;
  event.size = bytes;
  event.order = static_cast<AccessOrder>(op.order);
  return event;
}

std::optional<uint64_t> Machine::recorded_value(Expr e) const {
  const ExprNode& node = trace.pool.node(e);
  if (node.width > 64) return std::nullopt;
  if (trace.pool.is_constant(e)) return trace.pool.constant_bits(e);
  if (const auto found = recorded_.find(e.number); found != recorded_.end()) return found->second;
  if (node.op != ExprOp::add && node.op != ExprOp::mul) return std::nullopt;
  const std::optional<uint64_t> a = recorded_value(Expr{node.a});
  const std::optional<uint64_t> b = a ? recorded_value(Expr{node.b}) : std::nullopt;
  if (!b) return std::nullopt;
  return (node.op == ExprOp::add ? *a + *b : *a * *b) & low_bits(node.width);
}

void Machine::load(Expr address, const ValueLayout& type, Cell* to, const Op& op) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return load(*at, type, to, op);
  const auto bytes = static_cast<unsigned>(type.bytes);
  if (is_uncertain(address) || is_outside(address)) {
    misses_object_ = true;
    return set_leaves(type, unknown(bytes * 8, "what is at an address that is not known"), to);
  }
  symbolic_event(EventKind::read, address, bytes, op);
  set_leaves(type, pool().read(static_cast<uint32_t>(trace.events.size() - 1), bytes * 8), to);
}

void Machine::store(Expr address, const ValueLayout& type, const Cell* from, const Op& op) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return store(*at, type, from, op);
  if (is_uncertain(address) || is_outside(address)) return forget_object(address);
  const Expr whole = whole_value(type, from);
  symbolic_event(EventKind::write, address, static_cast<unsigned>(type.bytes), op).value = whole;
}

Expr Machine::update(Expr address, unsigned bits, const Op& op, const std::function<Expr(Expr)>& change) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return update(*at, bits, op, change);
  const unsigned bytes = (bits + 7) / 8;
  if (is_uncertain(address) || is_outside(address)) {
    forget_object(address);
    const Expr old = unknown(bits, "what is at an address that is not known");
    change(old);
    return old;
  }
  symbolic_event(EventKind::update, address, bytes, op);
  const auto index = static_cast<uint32_t>(trace.events.size() - 1);
  const Expr old = pool().extract(pool().read(index, bytes * 8), 0, bits);
  trace.events[index].value = pool().zext(change(old), bytes * 8);
  return old;
}

// No program copies so much: the size was computed from values that are wrong, as they are before all that is
// shared is known.
bool Machine::is_too_long(uint64_t to, uint64_t size) {
  constexpr uint64_t kLongest = uint64_t{1} << 30;
  if (size <= kLongest) return false;
  mismatch("a copy that is too long");
  forget_from(to);
  return true;
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
    const auto part = static_cast<unsigned>(std::min<uint64_t>(size - done, kPiece - (from + done) % kPiece));
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
    const auto part = static_cast<unsigned>(std::min<uint64_t>(size - done, kPiece - (to + done) % kPiece));
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
    const auto part =
        static_cast<unsigned>(std::min<uint64_t>(bytes.size() - done, kPiece - (to + done) % kPiece));
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
    const auto part = static_cast<unsigned>(std::min<uint64_t>(size - done, kPiece - (at + done) % kPiece));
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
    const auto part = static_cast<unsigned>(std::min<uint64_t>(size - done, kPiece - (at + done) % kPiece));
    if (is_shared(at + done, part)) {
      write_event(at + done, read_bytes(at + done, part), part, nullptr);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

uint64_t Machine::new_stack_object(uint64_t size, uint64_t alignment) {
  uint64_t& next = top().stack;
  const uint64_t at = (next + alignment - 1) / alignment * alignment;
  next = at + std::max<uint64_t>(size, 1);
  note_stack_object(at, size);
  memory.forget(at, std::min<uint64_t>(size, 4096));
  return at;
}

// Of a block that other threads use too, its beginning and its end are events: what lies at its addresses
// before and after is something else.
void Machine::allocate_block(uint64_t at, uint64_t size) {
  blocks[at] = {.size = size};
  memory.forget(at, size);
  if (!with_blocks || !is_shared(at, size)) return;
  ++step;  // it may have to wait until another thread has released the block
  Event& event = add_event(EventKind::allocate, current_);
  event.address = at;
  event.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
}

void Machine::release_block(uint64_t at) {
  const auto found = blocks.find(at);
  const uint64_t size = found != blocks.end() ? found->second.size : 1;
  notes.note(at, std::max<uint64_t>(size, 1), true, epoch);
  if (!is_shared(at, size)) return;
  if (with_blocks) {
    Event& event = add_event(EventKind::release, current_);
    event.address = at;
    event.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  }
  constexpr uint64_t kMost = 4096;
  forget(at, std::min(size, kMost), "what the allocator leaves in a freed block");
}

void Machine::find_error(uint64_t at) {
  if (error_at_ != 0) return;
  error_at_ = at;
  if (error_) memory.write(at, {reinterpret_cast<const uint8_t*>(&*error_), sizeof *error_});
}

void Machine::set_error(uint64_t number) {
  error_ = static_cast<uint32_t>(number);
  if (error_at_ != 0) memory.write(error_at_, {reinterpret_cast<const uint8_t*>(&*error_), sizeof *error_});
}

void Machine::forget_error() {
  error_.reset();
  if (error_at_ != 0) memory.forget(error_at_, sizeof(uint32_t));
}

// glibc keeps the kind of a mutex in its fifth word: 1 is recursive. pthread_mutex_init does not tell what it
// wrote.
bool Machine::is_recursive(uint64_t mutex) {
  uint32_t kind = 0;
  return memory.read(mutex + 16, {reinterpret_cast<uint8_t*>(&kind), sizeof kind}) && (kind & 3) == 1;
}

// ---- the trace

uint32_t Machine::place_of(const llvm::Instruction* instruction) {
  if (instruction == nullptr) return 0;
  const uint32_t caller = frames.empty() ? 0 : frames.back().called_from;
  const uint32_t id = code.program().id_of(*instruction).value;
  const auto [found, added] = places_.try_emplace(uint64_t{caller} << 32 | id, trace.places.size());
  if (added) trace.places.push_back({.instruction = id, .caller = caller});
  return found->second;
}

Event& Machine::add_event(EventKind kind, const llvm::Instruction* at) {
  Event event{.kind = kind, .step = step, .occurrence = at == nullptr ? 0 : occurrences_.lookup(at)};
  event.place = place_of(at);
  event.tsc_low = stamp_;
  return trace.events.emplace_back(event);
}

void Machine::pass(const llvm::Instruction& at) {
  ++step;
  ++occurrences_[&at];
}

void Machine::unpass(const Op& op) {
  if (op.counts) --occurrences_[op.instruction];
}

void Machine::drop_unfinished() {
  if (current_ == nullptr || trace.events.empty() || trace.events.back().sync == 0) return;
  if (trace.places[trace.events.back().place].instruction == code.program().id_of(*current_).value)
    trace.events.pop_back();
}

void Machine::stamp(uint64_t tsc) {
  for (; stamped_events_ < trace.events.size(); ++stamped_events_) trace.events[stamped_events_].tsc_high = tsc;
  stamp_ = tsc;
}

void Machine::add_constraint(Constraint::Kind kind, Expr condition) {
  trace.constraints.push_back({.kind = kind,
                               .condition = condition,
                               .events = static_cast<uint32_t>(trace.events.size()),
                               .place = place_here()});
}

void Machine::must_be(Constraint::Kind kind, Cell* cell, unsigned bits, uint64_t value) {
  value &= low_bits(bits);
  // Its own code knows the object by our address: what it holds lies there.
  if (!cell->expression && cell->bits >= kPrivateStack && cell->bits < 2 * kPrivateStack) return;
  if (!cell->expression) {
    if (cell->bits != value && !ProgramImage::is_made_up(cell->bits))
      mismatch(fmt::format("{} was recorded, {} computed", value, cell->bits));
  } else {
    const Expr same = pool().binary(ExprOp::eq, cell->expression, pool().constant(value, bits));
    if (!pool().is_constant(same)) {
      add_constraint(kind, same);
      recorded_[cell->expression.number] = value;
    } else if (pool().constant_bits(same) == 0) {
      mismatch(fmt::format("{} was recorded, which is impossible", value));
    }
  }
  set(cell, value);
}

void Machine::mismatch(const std::string& what) {
  if (mismatches++ == 0 && current_ != nullptr)
    first_mismatch = fmt::format("{}: {}", source_place(*current_).text(), what);
}

}  // namespace heddle
