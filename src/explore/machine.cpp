// Operations: what they need, what they do; fingerprints of states.
#include "explore/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "explore/merged_histories.h"

namespace heddle {
namespace {

bool reads_later(const Behaviour::Node& node, uint64_t resource) {
  const auto at = std::ranges::lower_bound(node.future, Use{resource, false});
  // An update counts as a write and reads; a plain write does too here, at no loss but of equal states.
  return at != node.future.end() && at->resource == resource;
}

constexpr uint64_t kCancelled = UINT64_MAX;  // in a fingerprint

bool ends_process(Behaviour::State state) {
  return state == Behaviour::State::failed || state == Behaviour::State::exits;
}

// What all threads share beside memory.
void add_objects(Hasher128& hasher, const MachineState& state) {
  for (const SyncObject& object : state.objects) {
    hasher.add(object.address);
    hasher.add(uint64_t{object.holder} << 32 | object.count);
    hasher.add(uint64_t{object.arrived} << 32 | object.round << 1 | object.done);
    hasher.add(object.kind);
    hasher.add(object.history);
    for (const uint32_t waiter : object.queue) hasher.add(waiter);
  }
  for (const auto& [address, size] : state.freed) {
    hasher.add(address);
    hasher.add(size);
  }
  hasher.add(uint64_t{state.alone} << 1 | state.is_unclear);
}

}  // namespace

MachineState OperationalMachine::begin() const {
  MachineState state;
  state.threads.resize(1);
  state.threads[0].node = behaviour_.root(0);
  state.threads[0].there = true;
  return state;
}

std::optional<uint64_t> OperationalMachine::input(const MachineState& state, uint32_t thread,
                                                  const Operation& operation) const {
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_update:
      return load(state, thread, operation.address, operation.size);
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_fence:
    case HEDDLE_EVENT_call:
      return 0;
    default:
      return sync_input(state, thread, operation);
  }
}

void OperationalMachine::apply(MachineState& state, uint32_t thread, const Operation& operation,
                               const Behaviour::Edge& edge) const {
  ThreadState& self = state.threads[thread];
  const uint64_t output = edge.output;
  if (operation.is_sync()) {
    drain(state, thread);
    if (operation.is_channel()) return apply_channel(state, operation, edge);
    return apply_sync(state, thread, operation, edge.input, output);
  }
  if (operation.is_large()) {
    // As the runtime: what a call reads of its thread's own stores is in memory then.
    const auto is_buffered = [&](const Piece& piece) {
      return std::ranges::any_of(self.buffer,
                                 [&](const Store& store) { return store.address / 8 == piece.address / 8; });
    };
    const bool only_reads = operation.kind == HEDDLE_EVENT_read ||
                            (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_reads);
    if (buffers(operation)) return buffer(state, thread, operation, edge.written);
    if (!only_reads || (operation.kind == HEDDLE_EVENT_call && std::ranges::any_of(edge.read, is_buffered)))
      drain(state, thread);
    if (is_opaque(operation)) {
      SyncObject& object = state.objects.get(operation.address);
      object.history = hash_of({object.history, edge.to}).low;
    }
    for (const Piece& piece : edge.written) store(state, piece.address, piece.size, piece.value);
    if (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_frees) {
      const std::pair block(operation.address, operation.size);
      state.freed.insert(std::ranges::lower_bound(state.freed, block), block);
    }
    return;
  }
  switch (operation.kind) {
    case HEDDLE_EVENT_write: {
      if (!buffers(operation)) {
        drain(state, thread);
        return store(state, operation.address, operation.size, output);
      }
      const Piece piece{.address = operation.address, .size = operation.size, .value = output};
      return buffer(state, thread, operation, {&piece, 1});
    }
    case HEDDLE_EVENT_update:
      drain(state, thread);
      return store(state, operation.address, operation.size, output);
    case HEDDLE_EVENT_fence:
      if (operation.order == HEDDLE_ORDER_seq_cst) drain(state, thread);
      if (operation.order == HEDDLE_ORDER_release || operation.order == HEDDLE_ORDER_acq_rel)
        self.barrier = self.next_number;
      return;
    default:
      return;
  }
}

// What is known of how it went round holds for who was not cancelled since.
bool OperationalMachine::is_newly_cancelled(const ThreadState& thread) const {
  return thread.cancelled && !behaviour_.was_cancelled(thread.node);
}

bool OperationalMachine::goes_round(const MachineState& state, uint32_t thread) const {
  if (is_newly_cancelled(state.threads[thread])) return false;
  const Behaviour::Round round = behaviour_.last_round(state.threads[thread].node);
  return !round.empty() && std::ranges::all_of(round, [&](const auto& step) {
    const auto& [operation, awaited] = step;
    return is_private(operation) || comes_in_again(state, thread, operation, awaited);
  });
}

bool OperationalMachine::waits_in_loop(const MachineState& state, uint32_t thread) const {
  if (is_newly_cancelled(state.threads[thread])) return false;
  const NodeId at = state.threads[thread].node;
  const auto comes_again = [&](const auto& step) {
    return !uses_freed(state, step.first) &&
           (is_private(step.first) || comes_in_again(state, thread, step.first, step.second));
  };
  const Behaviour::Round& known = behaviour_.known_wait(at);
  if (!known.empty() && std::ranges::all_of(known, comes_again)) return true;
  return behaviour_.node(at).waiting == Behaviour::Node::Waiting::yes && goes_round(state, thread);
}

bool OperationalMachine::uses_freed(const MachineState& state, const Operation& operation) const {
  const uint64_t end = operation.address + std::max<uint64_t>(operation.size, 1);
  return operation.address != 0 && std::ranges::any_of(state.freed, [&](const auto& block) {
           return operation.address < block.first + block.second && block.first < end;
         });
}

bool OperationalMachine::is_private(const Operation& operation) const {
  const bool compares = operation.is_sync() && operation.sync() == HEDDLE_SYNC_futex &&
                        (operation.size == HEDDLE_PART_compare || operation.size == HEDDLE_PART_timed_compare);
  return (operation.kind == HEDDLE_EVENT_read || operation.kind == HEDDLE_EVENT_update || compares) &&
         behaviour_.is_private(operation.address);
}

bool OperationalMachine::is_opaque(const Operation& operation) const {
  return operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_object;
}

// Of large operations: the one whose reads are as memory is now. How far a library function reads depends on
// what it reads, so there is one at most.
const Behaviour::Edge* OperationalMachine::next_edge(const MachineState& state, uint32_t thread) const {
  const NodeId at = state.threads[thread].node;
  const Behaviour::Node& node = behaviour_.node(at);
  if (state.is_unclear || uses_freed(state, node.operation)) return nullptr;
  const bool cancelled = state.threads[thread].cancelled;
  if (!node.operation.is_large()) {
    if (is_private(node.operation)) {
      const auto found = std::ranges::find(node.edges, cancelled, &Behaviour::Edge::cancelled);
      return found == node.edges.end() ? nullptr : &*found;
    }
    const std::optional<uint64_t> in = input(state, thread, node.operation);
    return in ? behaviour_.edge(at, *in, cancelled) : nullptr;
  }
  const auto holds = [&](const Piece& piece) {
    return behaviour_.is_private(piece.address) ||
           load(state, thread, piece.address, piece.size) == piece.value;
  };
  if (node.operation.is_channel() && !channel_problem(state, thread, node.operation).empty()) return nullptr;
  const std::vector<uint8_t> bytes =
      node.operation.is_channel() ? channel_bytes(state, node.operation) : std::vector<uint8_t>();
  const uint64_t history = is_opaque(node.operation) ? object_at(state, node.operation.address).history : 0;
  const auto found = std::ranges::find_if(node.edges, [&](const Behaviour::Edge& edge) {
    return edge.output == history && edge.cancelled == cancelled && std::ranges::all_of(edge.read, holds) &&
           (!node.operation.is_channel() || bytes == bytes_of(edge.written));
  });
  return found == node.edges.end() ? nullptr : &*found;
}

OperationalMachine::Step OperationalMachine::perform(MachineState& state, const Action& action) const {
  if (action.flush) {
    flush(state, action.thread, *action.flush);
    return Step::done;
  }
  if (action.timeout) {
    time_out(state, action.thread);
    return Step::done;
  }
  const Behaviour::Edge* edge = next_edge(state, action.thread);
  if (edge == nullptr) return Step::unknown;
  apply(state, action.thread, behaviour_.node(state.threads[action.thread].node).operation, *edge);
  state.threads[action.thread].node = edge->to;
  if (behaviour_.node(edge->to).operation.drained) drain(state, action.thread);
  state.exited |= ends_process(behaviour_.node(edge->to).state);
  return Step::done;
}

bool OperationalMachine::ends_all(const MachineState& state, uint32_t thread) const {
  if (!is_enabled(state, thread)) return false;
  const Behaviour::Edge* edge = next_edge(state, thread);
  return edge != nullptr && ends_process(behaviour_.node(edge->to).state);
}

// ---- fingerprints

Hash128 OperationalMachine::hash(const MachineState& state, const MergedHistories* merged) const {
  Hasher128 hasher;
  for (const ThreadState& thread : state.threads) {
    if (thread.there) {  // the same in every process; numbers of nodes are not
      const Hash128& node = merged != nullptr ? merged->of(thread.node) : behaviour_.node(thread.node).history;
      hasher.add(node.low);
      hasher.add(node.high);
    }
    hasher.add(thread.alone << 24 | thread.round << 5 | thread.waits << 4 | thread.timed_out << 3 |
               thread.woken << 2 | thread.over << 1 | thread.there);
    if (thread.cancelled) hasher.add(kCancelled);
    if (thread.over) hasher.add(thread.result);
    if (!thread.buffer.empty()) add_buffer(hasher, thread);
    if (merged != nullptr || thread.buffer.size() > kMostBuffered / 2)
      hasher.add(thread.buffer.size());  // when it will be full
  }
  const auto is_read = [&](uint64_t resource) {
    for (uint32_t t = 0; t < behaviour_.thread_count(); ++t) {
      const bool there = t < state.threads.size() && state.threads[t].there;
      if (there && state.threads[t].over) continue;
      if (reads_later(behaviour_.node(there ? state.threads[t].node : behaviour_.root(t)), resource))
        return true;
    }
    return false;
  };
  for (const Word& word : state.memory) {
    uint64_t read = 0;  // later: its bytes
    for (uint64_t at = 0; at < 8; at += kBytesOfResource)
      if (is_read(resource_of_memory(word.address + at))) read |= mask_of(kBytesOfResource) << 8 * at;
    if (read == 0) continue;
    hasher.add(word.address);
    hasher.add(word.value & read);
    hasher.add(word.known & read);
  }
  add_objects(hasher, state);
  return hasher.hash();
}

// What is in it, and what may not become visible before something else; numbers themselves do not matter.
void OperationalMachine::add_buffer(Hasher128& hasher, const ThreadState& thread) const {
  const auto held_back_by = [&](uint32_t barrier) {
    return static_cast<uint64_t>(
        std::ranges::count_if(thread.buffer, [&](const Store& store) { return store.number < barrier; }));
  };
  uint32_t last = 0;
  for (const Store& store : thread.buffer) {
    const bool is_next = std::exchange(last, store.number) != store.number;
    if (behaviour_.is_private(store.address)) continue;
    hasher.add(store.address);
    hasher.add(store.value);
    hasher.add(store.size << 32 | held_back_by(store.barrier) << 1 | is_next);
  }
  hasher.add(held_back_by(thread.barrier));
}

Hash128 OperationalMachine::full_hash(const MachineState& state) const {
  Hash128 out;
  for (uint32_t t = 0; t < state.threads.size(); ++t) {
    const ThreadState& thread = state.threads[t];
    if (!thread.there) continue;
    Hasher128 hasher;
    const Hash128& history = behaviour_.node(thread.node).history;
    hasher.add(std::hash<ThreadName>()(behaviour_.name(t)));
    hasher.add(history.low);
    hasher.add(history.high);
    hasher.add(thread.alone << 24 | thread.round << 5 | thread.waits << 4 | thread.timed_out << 3 |
               thread.woken << 2 | thread.over << 1);
    if (thread.cancelled) hasher.add(kCancelled);
    for (const Store& store : thread.buffer) {
      hasher.add(store.address);
      hasher.add(store.value);
    }
    out ^= hasher.hash();
  }
  Hasher128 hasher;
  for (const Word& word : state.memory) {
    hasher.add(word.address);
    hasher.add(word.value);
  }
  add_objects(hasher, state);
  return out ^ hasher.hash();
}

Hash128 OperationalMachine::inputs_hash(const MachineState& state) const {
  Hash128 out;
  for (uint32_t t = 0; t < state.threads.size(); ++t) {
    if (!state.threads[t].there) continue;
    const Hash128& history = behaviour_.node(state.threads[t].node).history;
    out ^= hash_of({std::hash<ThreadName>()(behaviour_.name(t)), history.low, history.high});
  }
  return out;
}

// "t1,0,2t2,1": by thread, in the order of their names.
std::string OperationalMachine::inputs_text(const MachineState& state) const {
  std::string out;
  for (uint32_t t = 0; t < state.threads.size(); ++t) {
    if (!state.threads[t].there) continue;
    std::vector<uint64_t> reads;
    NodeId at = state.threads[t].node;
    for (NodeId before = behaviour_.node(at).parent; before != kUnknownNode;
         at = before, before = behaviour_.node(at).parent) {
      const Behaviour::Node& node = behaviour_.node(before);
      if (node.operation.kind != HEDDLE_EVENT_read && node.operation.kind != HEDDLE_EVENT_update) continue;
      reads.push_back(std::ranges::find(node.edges, at, &Behaviour::Edge::to)->input);
    }
    if (reads.empty()) continue;
    out += fmt::format("t{}", behaviour_.name(t).is_main() ? 0 : behaviour_.name(t).index_in_parent() + 1);
    for (const uint64_t each : std::views::reverse(reads)) out += fmt::format(",{}", each);
  }
  return out;
}

}  // namespace heddle
