// Objects that come and go: on the stack, in the heap; and what the C library keeps for a thread.
#include "symex/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace heddle {
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

}  // namespace heddle
