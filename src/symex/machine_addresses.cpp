// Addresses that are expressions, and memory of which nothing is known any more.
#include "symex/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace heddle {

SymbolicMachine::Object SymbolicMachine::object_at(uint64_t at) const {
  const Object object = extent_at(at);
  const auto block = blocks.find(object.begin);
  return block == blocks.end() || block->second.is_exact ? object : Object{};
}

SymbolicMachine::Object SymbolicMachine::extent_at(uint64_t at) const {
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
  return in(known_.objects, size_itself);
}

void SymbolicMachine::add_objects(Objects& all) const {
  const auto add = [&](uint64_t at, uint64_t size) { all[at] = std::max(all[at], size); };
  for (const auto& [at, sizes] : allocated) add(at, sizes.largest);
  for (const auto& [at, size] : all_stack_objects_) add(at, size);
}

void SymbolicMachine::forget(uint64_t at, uint64_t size, const std::string& why) {
  notes.note(at, size, true, epoch);
  write_unknown(at, size, why);
}

void SymbolicMachine::write_unknown(uint64_t at, uint64_t size, const std::string& why) {
  memory.forget(at, size);
  if (!is_shared(at, size)) return;
  for (uint64_t done = 0; done < size;) {
    const unsigned part = piece_at(at + done, size - done);
    if (is_shared(at + done, part)) {
      const Expr value = unknown(part * 8, why);
      memory.write(at + done, value, part);
      write_event(at + done, value, part, nullptr);
      trace.events.back().occurrence = 0;
    }
    done += part;
  }
}

void SymbolicMachine::forget_behind(const Cell& pointer, uint64_t most) {
  if (pointer.expression && is_of_library(pointer.expression)) return;
  if (pointer.expression) return forget_object(pointer.expression, most);
  forget_from(pointer.bits, most);
}

void SymbolicMachine::forget_from(uint64_t at, uint64_t most) {
  const Object object = extent_at(at);
  misses_object_ |= object.size == 0;
  if (object.size != 0)
    forget(at, std::min(object.begin + object.size - at, most), "what code outside may have written");
}

uint64_t SymbolicMachine::next_object(uint64_t at) const {
  uint64_t next = UINT64_MAX;
  const auto look = [&](const auto& map) {
    if (const auto after = map.upper_bound(at); after != map.end()) next = std::min(next, after->first);
  };
  look(blocks);
  look(stack_objects_);
  look(known_.objects);
  return next;
}

// A block that a library has allocated by itself (getline): where it ends is not known, but before the next one
// that is. That others use it shows where they do.
void SymbolicMachine::forget_library_block(uint64_t at) {
  constexpr uint64_t kLongest = 1 << 16;
  write_unknown(at, std::min(next_object(at) - at, kLongest), "what code outside may have written");
}

// What lies there, if it is a number or was recorded as one.
std::optional<uint64_t> SymbolicMachine::known_word(uint64_t at) {
  uint64_t word = 0;
  if (memory.read(at, {reinterpret_cast<uint8_t*>(&word), sizeof word})) return word;
  for (unsigned i = 0; i < sizeof word; ++i)
    if (const SymbolicMemory::Byte byte = memory.byte(at + i); !byte.known || byte.inherited)
      return std::nullopt;
  return recorded_value(read_bytes(at, sizeof word));
}

void SymbolicMachine::forget_reachable(const Cell& pointer, uint64_t most) {
  constexpr size_t kMostObjects = 256;
  constexpr uint64_t kLowest = uint64_t{1} << 32, kHighest = uint64_t{1} << 47;
  if (pointer.expression) return forget_behind(pointer, most);
  std::vector<uint64_t> reached = {pointer.bits};  // where pointers point to
  std::set<uint64_t> seen = {object_at(pointer.bits).begin};
  for (size_t i = 0; i < reached.size() && i < kMostObjects; ++i) {
    const Object object = object_at(reached[i]);
    const uint64_t end = std::min(object.begin + object.size, reached[i] + most);
    for (uint64_t at = (reached[i] + 7) / 8 * 8; object.size != 0 && at + 8 <= end; at += 8) {
      const std::optional<uint64_t> word = known_word(at);
      if (!word) continue;
      const Object behind = object_at(*word);
      const llvm::GlobalVariable* variable = code.image().variable_at(*word);
      const bool is_pointer =
          behind.size != 0 || (kLowest < *word && *word < kHighest && memory.is_touched(*word));
      if (is_pointer && (variable == nullptr || !variable->isConstant()) &&
          seen.insert(behind.size != 0 ? behind.begin : *word).second)
        reached.push_back(*word);
    }
  }
  wrote_anywhere |= reached.size() > kMostObjects;
  for (size_t i = 0; i < reached.size() && i < kMostObjects; ++i) {
    const Object object = object_at(reached[i]);
    if (i == 0) {
      forget_from(reached[i], most);
    } else if (object.size != 0) {
      forget_from(object.begin, most);
    } else {
      forget_library_block(reached[i]);
    }
  }
}

// The address of an element is that of its object, or of a part of it, plus something.
SymbolicMachine::Object SymbolicMachine::object_of(Expr address) const {
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
bool SymbolicMachine::is_outside(Expr address) const {
  constexpr uint64_t kLowest = uint64_t{1} << 32, kHighest = uint64_t{1} << 47;
  const ExprNode& node = trace.pool.node(address);
  if (node.op == ExprOp::add) return is_outside(Expr{node.a}) || is_outside(Expr{node.b});
  if (node.op != ExprOp::constant) return false;
  const uint64_t bits = trace.pool.constant_bits(address);
  return kLowest < bits && bits < kHighest && extent_at(bits).size == 0;
}

// What a library keeps in its memory (stderr): what its functions write behind it is its own.
bool SymbolicMachine::is_of_library(Expr pointer) const {
  const ExprNode& node = trace.pool.node(pointer);
  if (node.op == ExprOp::unknown)
    return node.a != ExprPool::kDecidedByPath && approximations_.is(node.a, kNotWritten);
  if (node.op != ExprOp::concat) return false;
  return is_of_library(Expr{node.a}) && is_of_library(Expr{node.b});
}

bool SymbolicMachine::is_uncertain(Expr e) {
  while (uncertain_.size() <= e.number) {  // operands come first
    const ExprNode& node = trace.pool.node(Expr{static_cast<uint32_t>(uncertain_.size())});
    const std::array<Expr, 3> operands = operands_of(node);
    uncertain_.push_back(node.op == ExprOp::unknown || std::ranges::any_of(operands, [&](Expr operand) {
                           return operand && uncertain_[operand.number];
                         }));
  }
  return uncertain_[e.number];
}

void SymbolicMachine::forget_object(Expr address, uint64_t most) {
  const Object object = object_of(address);
  const std::string why = "a write at an address of which nothing is known";
  unknown(1, why);
  if (object.size != 0) return forget(object.begin, std::min(object.size, most), why);
  misses_object_ = true;
  // Of whatever it points to, all that may lie behind it.
  const uint64_t size = std::min(reach({0, address}), most);
  if (is_uncertain(address) || size == 0 || size > kLargestAccess) {
    wrote_anywhere = true;
    return;
  }
  Event& event = symbolic_event(EventKind::write, address, static_cast<unsigned>(size), {});
  event.value = unknown(event.size * 8, why);
  event.occurrence = 0;
}

void SymbolicMachine::make_nowhere() {
  for (uint64_t done = 0; done < known_.nowhere; done += kLargestAccess) {
    Event& event = add_event(EventKind::write, nullptr);
    event.address = kNowhere + done;
    event.size = static_cast<uint32_t>(std::min<uint64_t>(known_.nowhere - done, kLargestAccess));
    event.value = unknown(event.size * 8, "what is at an address that is not known");
  }
}

Event& SymbolicMachine::symbolic_event(EventKind kind, Expr address, unsigned bytes, const Op& op) {
  constexpr uint64_t kLargest = uint64_t{1} << 28;
  const Object object = object_of(address);
  if (object.size < kLargest) {
    also_share.add(object.begin, object.size);  // of others see pointer_targets.h
  } else if (kind != EventKind::read) {
    wrote_anywhere = true;
    unknown(1, "a write somewhere in a large object");
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

// Each sum is looked at once: a pointer that is moved on by what was read is a sum that grows with every step.
std::optional<uint64_t> SymbolicMachine::recorded_value(Expr e) {
  std::vector<Expr> sums;  // from the outermost inwards, by their first operands
  std::optional<uint64_t> value;
  for (Expr at = e;; at = Expr{trace.pool.node(at).a}) {
    const ExprNode& node = trace.pool.node(at);
    if (node.width <= 64 && trace.pool.is_constant(at)) value = trace.pool.constant_bits(at);
    if (const auto found = recorded_.find(at.number); found != recorded_.end()) value = found->second;
    const bool is_sum = node.width <= 64 && (node.op == ExprOp::add || node.op == ExprOp::mul);
    if (value || !is_sum || unrecorded_.contains(at.number)) break;
    sums.push_back(at);
  }
  for (; !sums.empty(); sums.pop_back()) {
    const ExprNode& node = trace.pool.node(sums.back());
    const std::optional<uint64_t> other = value ? recorded_value(Expr{node.b}) : std::nullopt;
    value = !other ? std::nullopt
                   : std::optional((node.op == ExprOp::add ? *value + *other : *value * *other) &
                                   low_bits(node.width));
    if (value) {
      recorded_[sums.back().number] = *value;
    } else {
      unrecorded_.insert(sums.back().number);
    }
  }
  return value;
}

void SymbolicMachine::load(Expr address, const ValueLayout& type, Cell* to, const Op& op) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return load(*at, type, to, op);
  const auto bytes = static_cast<unsigned>(type.bytes);
  if (is_uncertain(address) || is_outside(address)) {
    misses_object_ = true;
    return set_leaves(type, unknown(bytes * 8, "what is at an address that is not known"), to);
  }
  symbolic_event(EventKind::read, address, bytes, op);
  note_likely_read(likely ? likely->value(address) : std::nullopt, bytes);
  set_leaves(type, pool().read(static_cast<uint32_t>(trace.events.size() - 1), bytes * 8), to);
}

void SymbolicMachine::store(Expr address, const ValueLayout& type, const Cell* from, const Op& op) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return store(*at, type, from, op);
  if (is_uncertain(address) || is_outside(address)) return forget_object(address);
  const Expr whole = whole_value(type, from);
  symbolic_event(EventKind::write, address, static_cast<unsigned>(type.bytes), op).value = whole;
}

Expr SymbolicMachine::update(Expr address, unsigned bits, const Op& op,
                             const std::function<Expr(Expr)>& change) {
  if (const std::optional<uint64_t> at = recorded_value(address)) return update(*at, bits, op, change);
  const unsigned bytes = (bits + 7) / 8;
  if (is_uncertain(address) || is_outside(address)) {
    forget_object(address);
    const Expr old = unknown(bits, "what is at an address that is not known");
    change(old);
    return old;
  }
  symbolic_event(EventKind::update, address, bytes, op);
  note_likely_read(likely ? likely->value(address) : std::nullopt, bytes);
  const auto index = static_cast<uint32_t>(trace.events.size() - 1);
  const Expr old = pool().extract(pool().read(index, bytes * 8), 0, bits);
  trace.events[index].value = pool().zext(change(old), bytes * 8);
  return old;
}

}  // namespace heddle
