// Of SearchState: memory and store buffers, forth and back.
#include <algorithm>

#include "solve/search_state.h"

namespace heddle {
namespace {

Hash128 hash_of_byte(uint64_t address, MemoryByte byte) {
  return hash_of({'m', address, static_cast<uint64_t>(byte.value) << 1 | byte.certain});
}

}  // namespace

std::optional<uint64_t> SearchState::address_of(uint32_t thread, const Event& event) const {
  if (!event.address_expression) return event.address;
  const LiveValue value = threads_[thread].values.value(event.address_expression);
  if (!value.certain) return event.address;
  const uint64_t offset = value.words[0] - event.object;
  const bool inside =
      event.object_size == 0 || (event.size <= event.object_size && offset <= event.object_size - event.size);
  return inside ? std::optional(value.words[0]) : std::nullopt;
}

void SearchState::read(uint32_t thread, const Event& event, uint64_t address) {
  const std::vector<Store>& buffer = threads_[thread].buffer;
  for (uint32_t i = 0; i < event.size; ++i) {
    const auto own = std::ranges::find_if(buffer.rbegin(), buffer.rend(), [&](const Store& store) {
      return address + i - store.address < store.bytes.size();
    });
    const MemoryByte byte =
        own != buffer.rend() ? own->bytes[address + i - own->address] : memory_.get(address + i);
    read_words_[i / 8] |= static_cast<uint64_t>(byte.value) << i % 8 * 8;
    read_certain_ &= byte.certain;
  }
}

void SearchState::set_byte(uint64_t address, MemoryByte byte, uint32_t memory) {
  const MemoryByte old = memory_.get(address);
  if (old == byte) return;
  bytes_log_.push_back({.address = address, .old = old, .memory = memory});
  memory_.set(address, byte);
  const Hash128 change = hash_of_byte(address, old) ^ hash_of_byte(address, byte);
  memory_hashes_[memory] ^= change;
  if (readers_left_[memory] > 0) hash_ ^= change;
}

void SearchState::count_store(uint32_t thread, uint32_t memory, int by) {
  buffered_[thread * plan_->resources.size() + memory] += static_cast<uint32_t>(by);
  all_buffered_[memory] += static_cast<uint32_t>(by);
}

Hash128 SearchState::hash_of_store(uint32_t thread, const Store& store) const {
  Hasher128 hasher;
  hasher.add(uint64_t{thread} << 32 | store.event);
  hasher.add(store.barrier);
  hasher.add(store.address);
  for (const MemoryByte& byte : store.bytes) hasher.add(static_cast<uint64_t>(byte.value) << 1 | byte.certain);
  return hasher.hash();
}

void SearchState::set_barrier(uint32_t thread, uint32_t barrier) {
  uint32_t& now = threads_[thread].barrier;
  hash_ ^= hash_of({'f', thread, now}) ^ hash_of({'f', thread, barrier});
  now = barrier;
}

void SearchState::write(uint32_t thread, uint32_t number, uint64_t address, LiveValue value) {
  const Event& written = event(thread, number);
  const uint32_t memory = plan_->resources.memory_of({thread, number});
  const auto byte = [&](uint32_t i) {
    return MemoryByte{.value = static_cast<uint8_t>(value.words[i / 8] >> i % 8 * 8), .certain = value.certain};
  };
  const ResourceUse use{memory, true};
  const bool buffered = buffers() && !needs_empty_buffer(written) &&
                        (all_buffered_[memory] > 0 || plan_->resources.is_wanted(use, thread, positions_));
  if (!buffered) {
    for (uint32_t i = 0; i < written.size; ++i) set_byte(address + i, byte(i), memory);
    return;
  }
  const bool pso = plan_->problem->model == MemoryModel::pso;
  Store store{.event = number, .memory = memory, .address = address};
  if (pso) store.barrier = releases(written.order) ? number : threads_[thread].barrier;
  for (uint32_t i = 0; i < written.size; ++i) store.bytes.push_back(byte(i));
  hash_ ^= hash_of_store(thread, store);
  count_store(thread, memory, 1);
  buffers_log_.push_back({.at = threads_[thread].buffer.size()});
  threads_[thread].buffer.push_back(std::move(store));
}

void SearchState::flush_store(uint32_t thread, size_t index) {
  std::vector<Store>& buffer = threads_[thread].buffer;
  Store store = std::move(buffer[index]);
  buffer.erase(buffer.begin() + static_cast<ptrdiff_t>(index));
  hash_ ^= hash_of_store(thread, store);
  count_store(thread, store.memory, -1);
  for (size_t i = 0; i < store.bytes.size(); ++i) set_byte(store.address + i, store.bytes[i], store.memory);
  wake({store.memory, true}, thread);
  buffers_log_.push_back({.at = index, .flushed = std::move(store)});
  if (buffer.empty()) set_barrier(thread, 0);
}

void SearchState::flush(uint32_t thread, uint32_t number) {
  begin_operation({.thread = thread, .event = number, .flush = true});
  const std::vector<Store>& buffer = threads_[thread].buffer;
  const auto store = std::ranges::find(buffer, number, &Store::event);
  HEDDLE_CHECK(store != buffer.end());
  last_flush_ = {.thread = thread, .event = number, .memory = store->memory};
  flush_store(thread, static_cast<size_t>(store - buffer.begin()));
}

void SearchState::take_back_memory(const Operation& operation) {
  const uint32_t t = operation.item.thread;
  Thread& thread = threads_[t];
  for (; bytes_log_.size() > operation.bytes_log; bytes_log_.pop_back()) {
    const ByteChange& change = bytes_log_.back();
    memory_hashes_[change.memory] ^=
        hash_of_byte(change.address, memory_.get(change.address)) ^ hash_of_byte(change.address, change.old);
    memory_.set(change.address, change.old);
  }
  for (; buffers_log_.size() > operation.buffers_log; buffers_log_.pop_back()) {
    BufferChange& change = buffers_log_.back();
    if (change.flushed) {
      count_store(t, change.flushed->memory, 1);
      thread.buffer.insert(thread.buffer.begin() + static_cast<ptrdiff_t>(change.at),
                           std::move(*change.flushed));
    } else {
      count_store(t, thread.buffer.back().memory, -1);
      thread.buffer.pop_back();
    }
  }
}

}  // namespace heddle
