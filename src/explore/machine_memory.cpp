// Memory and store buffers.
#include <algorithm>

#include "explore/machine.h"

namespace heddle {
namespace {

bool overlap(const Store& left, const Store& right) {
  return left.address < right.address + right.size && right.address < left.address + left.size;
}

}  // namespace

std::optional<uint64_t> OperationalMachine::load(const MachineState& state, std::span<const Store> buffer,
                                                 uint64_t address, uint64_t size) const {
  const uint64_t base = address & ~uint64_t{7};
  const unsigned shift = 8 * (address - base);
  uint64_t wanted = mask_of(size) << shift, value = 0;
  const auto take = [&](uint64_t from, uint64_t known) {
    value |= from & known & wanted;
    wanted &= ~known;
  };
  for (auto store = buffer.rbegin(); store != buffer.rend(); ++store) {
    if ((store->address & ~uint64_t{7}) != base) continue;
    const unsigned by = 8 * (store->address - base);
    take(store->value << by, mask_of(store->size) << by);
  }
  if (const Word* word = state.memory.find(base)) take(word->value, word->known);
  if (const Word* word = initial_.find(base)) take(word->value, word->known);
  if (wanted != 0) return std::nullopt;
  return value >> shift;
}

void OperationalMachine::store(MachineState& state, uint64_t address, uint64_t size, uint64_t value) const {
  if (behaviour_.is_private(address)) return;
  const uint64_t base = address & ~uint64_t{7};
  const unsigned shift = 8 * (address - base);
  const uint64_t mask = mask_of(size) << shift;
  Word& word = state.memory.get(base);
  word.value = (word.value & ~mask) | (value << shift & mask);
  word.known |= mask;
}

void OperationalMachine::drain(MachineState& state, uint32_t thread) const {
  for (const Store& each : state.threads[thread].buffer) store(state, each.address, each.size, each.value);
  state.threads[thread].buffer.clear();
}

bool OperationalMachine::buffers(const Operation& operation) const {
  return model_ != MemoryModel::sc && operation.kind == HEDDLE_EVENT_write &&
         operation.order != HEDDLE_ORDER_seq_cst;
}

bool OperationalMachine::buffer_is_full(const MachineState& state, uint32_t thread) const {
  size_t stores = 0;
  uint32_t last = 0;
  for (const Store& each : state.threads[thread].buffer) {
    stores += each.number != last;
    last = each.number;
  }
  return stores == kMostBuffered;
}

void OperationalMachine::buffer(MachineState& state, uint32_t thread, const Operation& operation,
                                std::span<const Piece> pieces) const {
  ThreadState& self = state.threads[thread];
  if (buffer_is_full(state, thread)) flush(state, thread, self.buffer.front().address);
  const uint32_t number = self.next_number++;
  const bool release = operation.order == HEDDLE_ORDER_release || operation.order == HEDDLE_ORDER_acq_rel;
  for (const Piece& piece : pieces)
    self.buffer.push_back({.address = piece.address,
                           .size = piece.size,
                           .value = piece.value,
                           .number = number,
                           .barrier = release ? number : self.barrier});
}

bool OperationalMachine::holds_back(const Store& older, const Store& younger) const {
  if (older.number == younger.number) return false;
  return model_ == MemoryModel::tso || overlap(older, younger) || older.number < younger.barrier;
}

// The first piece of a store stands for it. When stores to private memory become visible nobody can tell: that
// is no action, and they hold nothing back; they go before a store that they would hold back.
std::vector<Action> OperationalMachine::flushes(const MachineState& state, uint32_t thread) const {
  std::vector<Action> out;
  if (is_kept_back(state, thread)) return out;
  const std::vector<Store>& buffer = state.threads[thread].buffer;
  for (auto store = buffer.begin(); store != buffer.end();) {
    const auto behind =
        std::find_if(store, buffer.end(), [&](const Store& each) { return each.number != store->number; });
    const auto waits_for = [&](const Store& older) {
      return !behaviour_.is_private(older.address) &&
             std::any_of(store, behind, [&](const Store& piece) { return holds_back(older, piece); });
    };
    const auto shared =
        std::find_if(store, behind, [&](const Store& piece) { return !behaviour_.is_private(piece.address); });
    if (shared != behind) {
      if (std::none_of(buffer.begin(), store, waits_for))
        out.push_back({.thread = thread, .flush = shared->address});
      if (model_ == MemoryModel::tso) break;
    }
    store = behind;
  }
  return out;
}

void OperationalMachine::flush(MachineState& state, uint32_t thread, uint64_t address) const {
  std::vector<Store>& buffer = state.threads[thread].buffer;
  const uint32_t number = std::ranges::find(buffer, address, &Store::address)->number;
  std::vector<Store> pieces;
  std::erase_if(buffer, [&](const Store& each) {
    if (each.number == number) pieces.push_back(each);
    return each.number == number;
  });
  for (const Store& each : pieces) store(state, each.address, each.size, each.value);
  std::erase_if(buffer, [&](const Store& each) {
    return each.number < number && behaviour_.is_private(each.address) &&
           std::ranges::any_of(pieces, [&](const Store& piece) { return holds_back(each, piece); });
  });
}

}  // namespace heddle
