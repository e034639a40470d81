// Pipes and event counters that the program made (runtime/control/channels.c): a queue of bytes, a number.
//
// A pipe has 16 pages, and a write that fits goes in whole. As long as no more than a page of bytes is in it,
// it is never full: more than that is not followed, nor are writes that nobody reads, which send a signal.
#include <cerrno>

#include "explore/machine.h"

namespace heddle {
namespace {

constexpr size_t kMostBytes = 4096;

uint64_t number_in(const std::vector<uint8_t>& bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) out |= uint64_t{bytes[i]} << 8 * i;
  return out;
}

bool is_counter(const SyncObject& channel) {
  return channel.kind == HEDDLE_CHANNEL_counter || channel.kind == HEDDLE_CHANNEL_semaphore;
}

}  // namespace

std::vector<uint8_t> bytes_of(std::span<const Piece> pieces) {
  std::vector<uint8_t> out;
  for (const Piece& piece : pieces)
    for (uint64_t i = 0; i < piece.size; ++i) out.push_back(static_cast<uint8_t>(piece.value >> 8 * i));
  return out;
}

// Of its fields `kind` is that of a channel, `count` has the ends that are open, `history` the number, `queue`
// the bytes.
std::string OperationalMachine::channel_problem(const MachineState& state, uint32_t thread,
                                                const Operation& operation) const {
  const SyncObject& channel = object_at(state, operation.address);
  if (operation.size == HEDDLE_PART_channel_make) return "";
  if (channel.kind == 0) return "a pipe that was there before";
  if (state.threads[thread].cancelled) return "a cancellation of a thread that uses a pipe";
  if (operation.size == HEDDLE_PART_channel_close) return "";
  const bool writes = operation.size == HEDDLE_PART_channel_write;
  if ((channel.count & (writes ? HEDDLE_END_writes : HEDDLE_END_reads)) == 0) return "the use of a closed pipe";
  if (operation.second == 0) return "a call that moves nothing through a pipe";
  if (is_counter(channel)) {
    if (operation.second != 8) return "an eventfd that is used with other than eight bytes";
    return writes && channel.history > UINT32_MAX ? "an eventfd with a large number" : "";
  }
  if (writes && (channel.count & HEDDLE_END_reads) == 0) return "a write to a pipe that nobody reads";
  return writes && channel.queue.size() + operation.second > kMostBytes
             ? "a pipe with more than 4096 bytes in it"
             : "";
}

bool OperationalMachine::is_channel_ready(const MachineState& state, uint32_t thread,
                                          const Operation& operation) const {
  if (operation.size != HEDDLE_PART_channel_read || !channel_problem(state, thread, operation).empty())
    return true;
  const SyncObject& channel = object_at(state, operation.address);
  if (is_counter(channel)) return channel.history != 0;
  return !channel.queue.empty() || (channel.count & HEDDLE_END_writes) == 0;
}

std::vector<uint8_t> OperationalMachine::channel_bytes(const MachineState& state,
                                                       const Operation& operation) const {
  const SyncObject& channel = object_at(state, operation.address);
  if (operation.size != HEDDLE_PART_channel_read) return {};
  if (!is_counter(channel)) {
    const size_t size = std::min<size_t>(operation.second, channel.queue.size());
    return {channel.queue.begin(), channel.queue.begin() + static_cast<ptrdiff_t>(size)};
  }
  const uint64_t number = channel.kind == HEDDLE_CHANNEL_semaphore ? 1 : channel.history;
  return bytes_of(std::vector<Piece>{{.size = 8, .value = number}});
}

void OperationalMachine::apply_channel(MachineState& state, const Operation& operation,
                                       const Behaviour::Edge& edge) const {
  SyncObject& channel = state.objects.get(operation.address);
  switch (operation.size) {
    case HEDDLE_PART_channel_make:
      channel = {.address = operation.address,
                 .kind = static_cast<uint32_t>(operation.second),
                 .count = HEDDLE_END_reads | HEDDLE_END_writes};
      return;
    case HEDDLE_PART_channel_close:
      channel.count &= ~static_cast<uint32_t>(operation.second);
      return;
    case HEDDLE_PART_channel_write: {
      const std::vector<uint8_t> bytes = bytes_of(edge.read);
      if (is_counter(channel))
        channel.history += number_in(bytes);
      else
        channel.queue.insert(channel.queue.end(), bytes.begin(), bytes.end());
      return;
    }
    default: {
      const std::vector<uint8_t> bytes = bytes_of(edge.written);
      if (is_counter(channel))
        channel.history -= number_in(bytes);
      else
        channel.queue.erase(channel.queue.begin(), channel.queue.begin() + std::ssize(bytes));
      for (const Piece& piece : edge.written) store(state, piece.address, piece.size, piece.value);
      return;
    }
  }
}

}  // namespace heddle
