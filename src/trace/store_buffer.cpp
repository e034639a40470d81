#include "trace/store_buffer.h"

#include "base/result.h"

namespace heddle {

void StoreBuffer::add(uint32_t event, uint64_t address, std::span<const MemoryByte> bytes, bool release) {
  const auto size = static_cast<uint32_t>(bytes.size());
  stores_.emplace_hint(stores_.end(), event,
                       Store{.address = address, .size = size, .barrier = release ? event : barrier_});
  for (uint32_t i = 0; i < size; ++i) bytes_[address + i].push_back({.event = event, .byte = bytes[i]});
}

void StoreBuffer::release_fence() {
  if (!stores_.empty()) barrier_ = stores_.rbegin()->first + 1;
}

bool StoreBuffer::may_flush(uint32_t event, MemoryModel model) const {
  const auto found = stores_.find(event);
  if (found == stores_.end()) return false;
  const uint32_t oldest = stores_.begin()->first;
  if (oldest == event) return true;
  const Store& store = found->second;
  if (model == MemoryModel::tso || oldest < store.barrier) return false;
  for (uint32_t i = 0; i < store.size; ++i)
    if (bytes_.at(store.address + i).front().event != event) return false;
  return true;
}

void StoreBuffer::flush(uint32_t event, ByteMemory& memory) {
  const auto found = stores_.find(event);
  HEDDLE_CHECK(found != stores_.end());
  for (uint32_t i = 0; i < found->second.size; ++i) {
    const auto queue = bytes_.find(found->second.address + i);
    memory.set(queue->first, queue->second.front().byte);
    queue->second.erase(queue->second.begin());
    if (queue->second.empty()) bytes_.erase(queue);
  }
  stores_.erase(found);
}

const MemoryByte* StoreBuffer::find(uint64_t address) const {
  const auto queue = bytes_.find(address);
  return queue == bytes_.end() ? nullptr : &queue->second.back().byte;
}

}  // namespace heddle
