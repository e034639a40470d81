// Objects that come and go: on the stack, in the heap; and what the C library keeps for a thread.
#include "symex/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace heddle {
namespace {

// What lay there before is gone: a block was released, by whomever, a function has returned.
template <class Map, class SizeOf>
void erase_objects_in(Map& objects, uint64_t at, uint64_t size, SizeOf size_of) {
  auto first = objects.lower_bound(at);
  if (first != objects.begin() && at - std::prev(first)->first < size_of(std::prev(first)->second)) --first;
  while (first != objects.end() && first->first < at + size) first = objects.erase(first);
}

}  // namespace

void SymbolicMachine::note_stack_object(uint64_t at, uint64_t size) {
  const auto size_itself = [](uint64_t each) { return each; };
  erase_objects_in(stack_objects_, at, std::max<uint64_t>(size, 1), size_itself);
  stack_objects_[at] = size;
  uint64_t& largest = all_stack_objects_[at];
  largest = std::max(largest, size);
}

uint64_t SymbolicMachine::new_stack_object(uint64_t size, uint64_t alignment) {
  uint64_t& next = top().stack;
  const uint64_t at = (next + alignment - 1) / alignment * alignment;
  next = at + std::max<uint64_t>(size, 1);
  note_stack_object(at, size);
  memory.forget(at, std::min<uint64_t>(size, 4096));
  return at;
}

// Of a block that other threads use too, its beginning and its end are events: what lies at its addresses
// before and after is something else.
void SymbolicMachine::allocate_block(uint64_t at, std::optional<uint64_t> exact_size) {
  constexpr uint64_t kMostUnknown = 4096;
  const uint64_t size = exact_size.value_or(kMostUnknown);
  erase_objects_in(blocks, at, size, [](const MemoryBlock& each) { return each.size; });
  resize_block(at, size);
  if (!exact_size) {
    unknown(1, "the size of a block, which depends on shared memory");
    wrote_anywhere = true;  // it may be longer
    blocks[at].is_exact = false;
    allocated[at].add({.smallest = 1, .largest = size});
    memory.forget(at, std::min(size, next_object(at) - at));
  } else {
    memory.forget(at, size);
  }
  if (!known_.releases || !is_shared(at, size)) return;
  ++step;  // it may have to wait until another thread has released the block
  Event& event = add_event(EventKind::allocate, current_);
  event.address = at;
  event.size = static_cast<uint32_t>(exact_size ? std::min<uint64_t>(size, UINT32_MAX) : 1);
}

void SymbolicMachine::resize_block(uint64_t at, uint64_t size) {
  blocks[at] = {.size = size};
  allocated[at].add({.smallest = size, .largest = size});
}

// Others may have released a block of its own and allocated another one there.
BlockSizes SymbolicMachine::block_sizes(uint64_t at) {
  BlockSizes out;
  asks_for_blocks_ = true;
  if (const auto found = known_.blocks.find(at); found != known_.blocks.end()) {
    out = found->second;
  } else if (const auto own = blocks.find(at); own != blocks.end()) {
    out = {.smallest = own->second.size, .largest = own->second.size};
  }
  return out;
}

void SymbolicMachine::release_block(uint64_t at) {
  const BlockSizes sizes = block_sizes(at);
  const uint64_t size = std::max<uint64_t>(std::min(sizes.smallest, sizes.largest), 1);
  notes.note(at, size, true, epoch);
  if (!is_shared(at, size)) return;
  if (known_.releases) {
    Event& event = add_event(EventKind::release, current_);
    event.address = at;
    event.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  }
  constexpr uint64_t kMost = 4096;
  forget(at, std::min(size, kMost), std::string(kLeftByAllocator));
}

// That it is not null need not be certain: then the trace is not exact.
std::optional<uint64_t> SymbolicMachine::released_block(const Cell& pointer) {
  const ExprNode& node = trace.pool.node(pointer.expression);
  if (!known_.pointers || node.op != ExprOp::read || trace.events[node.a].address_expression)
    return std::nullopt;
  const auto found = known_.pointers->find(trace.events[node.a].address);
  if (found == known_.pointers->end() || node.width != 64) return std::nullopt;
  std::set<uint64_t> values = found->second;
  const bool may_be_null = values.erase(0) != 0;
  if (values.size() != 1 || !known_.blocks.contains(*values.begin())) return std::nullopt;
  const Expr not_null =
      pool().logical_not(pool().binary(ExprOp::eq, pointer.expression, pool().constant(0, 64)));
  if (may_be_null && std::ranges::none_of(trace.constraints, [&](const Constraint& constraint) {
        return constraint.condition == not_null;
      })) {
    unknown(1, "whether a pointer that is released is null");
    wrote_anywhere = true;
  }
  Cell same = pointer;
  must_be(Constraint::Kind::argument, &same, 64, *values.begin());
  return *values.begin();
}

void SymbolicMachine::find_error(uint64_t at) {
  if (error_at_ != 0) return;
  error_at_ = at;
  if (error_) memory.write(at, {reinterpret_cast<const uint8_t*>(&*error_), sizeof *error_});
}

void SymbolicMachine::set_error(uint64_t number) {
  error_ = static_cast<uint32_t>(number);
  if (error_at_ != 0) memory.write(error_at_, {reinterpret_cast<const uint8_t*>(&*error_), sizeof *error_});
}

void SymbolicMachine::forget_error() {
  error_.reset();
  if (error_at_ != 0) memory.forget(error_at_, sizeof(uint32_t));
}

}  // namespace heddle
