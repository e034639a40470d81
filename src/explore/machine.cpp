#include "explore/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "replay/failure.h"

namespace heddle {
namespace {

constexpr size_t kMostBuffered = 64;            // as the runtime
constexpr uint64_t kSerialThread = UINT64_MAX;  // PTHREAD_BARRIER_SERIAL_THREAD
constexpr uint64_t kPrefersWriters = 2;         // PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
constexpr uint64_t kNotNow = UINT64_MAX;        // result of a semaphore that has to wait

constexpr uint64_t mask_of(uint64_t size) {
  return size >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * size) - 1;
}

bool overlap(const Store& left, const Store& right) {
  return left.address < right.address + right.size && right.address < left.address + left.size;
}

bool reads_later(const Behaviour::Node& node, uint64_t resource) {
  const auto at = std::ranges::lower_bound(node.future, Use{resource, false});
  // An update counts as a write and reads; a plain write does too here, at no loss but of equal states.
  return at != node.future.end() && at->resource == resource;
}

bool ends_process(Behaviour::State state) {
  return state == Behaviour::State::failed || state == Behaviour::State::exits;
}

const SyncObject kUntouched;

const SyncObject& object_at(const MachineState& state, uint64_t address) {
  const SyncObject* found = state.objects.find(address);
  return found != nullptr ? *found : kUntouched;
}

enum MutexKind : uint32_t { kTypeMask = 3, kRecursive = 1, kErrorChecking = 2, kRobust = 16 };

bool can_claim(const SyncObject& mutex, uint32_t owner) {
  return mutex.holder == 0 || (mutex.holder == owner && mutex.kind != 0);
}

bool is_signalled(const SyncObject& condition, uint32_t owner) {
  const auto waiter = std::ranges::find(condition.queue, owner);
  return std::find(waiter, condition.queue.end(), 0u) != condition.queue.end();
}

void release(SyncObject& mutex) {
  if (mutex.kind == kRecursive && mutex.count > 1) {
    --mutex.count;
    return;
  }
  mutex.holder = 0;
  mutex.count = 0;
}

// Counts of semaphores follow from what is done to them, but for the first.
uint64_t output_of(const heddle_event& event) {
  switch (event.kind) {
    case HEDDLE_EVENT_write:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_lock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_trylock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_sem_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_barrier_init:
      return event.value;
    case HEDDLE_EVENT_update:
      return event.after;
    default:
      return 0;
  }
}

void claim(SyncObject& mutex, uint32_t owner) {
  mutex.holder = owner;
  ++mutex.count;
}

}  // namespace

std::string Machine::not_covered(const heddle_event& event) const {
  switch (event.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_update:
      if (event.kind == HEDDLE_EVENT_write && event.order != HEDDLE_ORDER_seq_cst &&
          model_ != MemoryModel::sc && event.address % 8 + event.size > 8)
        return "a store of more than a word, with store buffers";
      return event.size > kLargestAccess ? "a very large access" : "";
    case HEDDLE_EVENT_fence:
      return "";
    case HEDDLE_EVENT_call:
      if (event.order == HEDDLE_CALL_frees && event.size > kLargestAccess)
        return "the end of a very large block";
      return event.order == HEDDLE_CALL_object ? "a library function with a state of its own" : "";
    default:
      break;
  }
  switch (event.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_mutex_init:
    case HEDDLE_SYNC_mutex_destroy:
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_unlock:
      return event.value != UINT32_MAX && (event.value & kRobust) != 0 ? "a robust mutex" : "";
    case HEDDLE_SYNC_rwlock_init:
    case HEDDLE_SYNC_rwlock_destroy:
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_unlock:
      return event.value == kPrefersWriters ? "a read-write lock that prefers writers" : "";
    case HEDDLE_SYNC_cond_init:
    case HEDDLE_SYNC_cond_destroy:
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_signal:
    case HEDDLE_SYNC_cond_broadcast:
    case HEDDLE_SYNC_spin_init:
    case HEDDLE_SYNC_spin_destroy:
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
    case HEDDLE_SYNC_spin_unlock:
    case HEDDLE_SYNC_barrier_init:
    case HEDDLE_SYNC_barrier_destroy:
    case HEDDLE_SYNC_barrier_wait:
    case HEDDLE_SYNC_sem_init:
    case HEDDLE_SYNC_sem_destroy:
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_sem_getvalue:
    case HEDDLE_SYNC_thread_create:
    case HEDDLE_SYNC_thread_begin:
    case HEDDLE_SYNC_thread_end:
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
    case HEDDLE_SYNC_guard_release:
    case HEDDLE_SYNC_guard_abort:
    case HEDDLE_SYNC_thread_detach:
    case HEDDLE_SYNC_thread_testcancel:  // who cancels is not covered
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_key_get:
    case HEDDLE_SYNC_key_set:
    case HEDDLE_SYNC_yield:
    case HEDDLE_SYNC_process_exit:
      return "";
    default:
      return fmt::format("synchronisation of a kind that is not followed ({})",
                         sync_name(event.kind - uint32_t{HEDDLE_EVENT_sync}));
  }
}

MachineState Machine::begin() const {
  MachineState state;
  state.threads.resize(1);
  state.threads[0].node = behaviour_.root(0);
  state.threads[0].there = true;
  return state;
}

// ---- memory

std::optional<uint64_t> Machine::load(const MachineState& state, uint32_t thread, uint64_t address,
                                      uint64_t size) const {
  const uint64_t base = address & ~uint64_t{7};
  const unsigned shift = 8 * (address - base);
  uint64_t wanted = mask_of(size) << shift, value = 0;
  const auto take = [&](uint64_t from, uint64_t known) {
    value |= from & known & wanted;
    wanted &= ~known;
  };
  for (auto store = state.threads[thread].buffer.rbegin(); store != state.threads[thread].buffer.rend();
       ++store) {
    if ((store->address & ~uint64_t{7}) != base) continue;
    const unsigned by = 8 * (store->address - base);
    take(store->value << by, mask_of(store->size) << by);
  }
  if (const Word* word = state.memory.find(base)) take(word->value, word->known);
  if (const Word* word = initial_.find(base)) take(word->value, word->known);
  if (wanted != 0) return std::nullopt;
  return value >> shift;
}

void Machine::store(MachineState& state, uint64_t address, uint64_t size, uint64_t value) const {
  if (behaviour_.is_private(address)) return;
  const uint64_t base = address & ~uint64_t{7};
  const unsigned shift = 8 * (address - base);
  const uint64_t mask = mask_of(size) << shift;
  Word& word = state.memory.get(base);
  word.value = (word.value & ~mask) | (value << shift & mask);
  word.known |= mask;
}

void Machine::drain(MachineState& state, uint32_t thread) const {
  for (const Store& each : state.threads[thread].buffer) store(state, each.address, each.size, each.value);
  state.threads[thread].buffer.clear();
}

bool Machine::buffers(const Operation& operation) const {
  return model_ != MemoryModel::sc && operation.kind == HEDDLE_EVENT_write &&
         operation.order != HEDDLE_ORDER_seq_cst;
}

bool Machine::holds_back(const Store& older, const Store& younger) const {
  return model_ == MemoryModel::tso || overlap(older, younger) || older.number < younger.barrier;
}

std::vector<Action> Machine::flushes(const MachineState& state, uint32_t thread) const {
  std::vector<Action> out;
  const std::vector<Store>& buffer = state.threads[thread].buffer;
  for (auto store = buffer.begin(); store != buffer.end(); ++store) {
    const auto waits_for = [&](const Store& older) { return holds_back(older, *store); };
    if (std::none_of(buffer.begin(), store, waits_for))
      out.push_back({.thread = thread, .flush = store->address});
    if (model_ == MemoryModel::tso) break;
  }
  return out;
}

void Machine::flush(MachineState& state, uint32_t thread, uint64_t address) const {
  std::vector<Store>& buffer = state.threads[thread].buffer;
  const auto found = std::ranges::find(buffer, address, &Store::address);
  store(state, found->address, found->size, found->value);
  buffer.erase(found);
}

// ---- what can be done

bool Machine::is_enabled(const MachineState& state, uint32_t thread) const {
  if (thread >= state.threads.size() || state.exited) return false;
  const ThreadState& self = state.threads[thread];
  if (!self.there || self.over) return false;
  const Behaviour::Node& node = behaviour_.node(self.node);
  if (node.state != Behaviour::State::goes_on) return false;
  const Operation& operation = node.operation;
  if (!operation.is_sync()) return true;
  const SyncObject& object = object_at(state, operation.address);
  const uint32_t owner = thread + 1;
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_lock:
      return can_claim(object, owner);
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_rwlock_rdlock:
      return object.holder == 0;
    case HEDDLE_SYNC_rwlock_wrlock:
      return object.holder == 0 && object.count == 0;
    case HEDDLE_SYNC_cond_wait:
      return !self.waits || ((self.woken || is_signalled(object, owner)) &&
                             can_claim(object_at(state, operation.second), owner));
    case HEDDLE_SYNC_cond_destroy:
      return object.queue.empty();
    case HEDDLE_SYNC_barrier_wait:
      return self.round == 0 || self.round != object.round + 1;
    case HEDDLE_SYNC_barrier_destroy:
      return object.arrived == 0 && std::ranges::none_of(state.threads, [&](const ThreadState& other) {
               return other.round != 0 && behaviour_.node(other.node).operation.address == operation.address;
             });
    case HEDDLE_SYNC_sem_wait:
      return object.count > 0;
    case HEDDLE_SYNC_thread_join:
      return operation.second < state.threads.size() && state.threads[operation.second].over;
    case HEDDLE_SYNC_once:
      return object.holder == 0 || object.holder == owner || object.done;
    case HEDDLE_SYNC_guard_acquire:
      return object.holder == 0 || object.done;
    default:
      return true;
  }
}

// ---- doing it

std::optional<uint64_t> Machine::input(const MachineState& state, uint32_t thread,
                                       const Operation& operation) const {
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_update:
      return load(state, thread, operation.address, operation.size);
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_fence:
      return 0;
    default:
      break;
  }
  const SyncObject& object = object_at(state, operation.address);
  const uint32_t owner = thread + 1;
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_lock:
      return object.holder == owner && object.kind == kErrorChecking ? EDEADLK : 0;
    case HEDDLE_SYNC_mutex_trylock:
      return object.holder == 0 || (object.holder == owner && object.kind == kRecursive) ? 0 : EBUSY;
    case HEDDLE_SYNC_mutex_unlock:
      return object.kind != 0 && object.holder != owner ? EPERM : 0;
    case HEDDLE_SYNC_spin_trylock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
      return object.holder == 0 ? 0 : EBUSY;
    case HEDDLE_SYNC_rwlock_trywrlock:
      return object.holder == 0 && object.count == 0 ? 0 : EBUSY;
    case HEDDLE_SYNC_barrier_wait:
      return state.threads[thread].round == 0 && object.arrived + 1 == object.count ? kSerialThread : 0;
    case HEDDLE_SYNC_sem_trywait:
      return object.count > 0 ? 0 : kNotNow;
    case HEDDLE_SYNC_sem_getvalue:
      return object.count;
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
      return object.holder == 0 && !object.done;
    default:
      return 0;
  }
}

void Machine::apply_sync(MachineState& state, uint32_t thread, const Operation& operation, uint64_t in,
                         uint64_t output) const {
  ThreadState& self = state.threads[thread];
  const uint32_t owner = thread + 1;
  const auto object = [&]() -> SyncObject& { return state.objects.get(operation.address); };
  switch (operation.sync()) {
    case HEDDLE_SYNC_mutex_init:
      object() = {.address = operation.address, .kind = static_cast<uint32_t>(output) & kTypeMask};
      return;
    case HEDDLE_SYNC_cond_init:
    case HEDDLE_SYNC_rwlock_init:
    case HEDDLE_SYNC_spin_init:
      object() = {.address = operation.address};
      return;
    case HEDDLE_SYNC_sem_init:
    case HEDDLE_SYNC_barrier_init:
      object() = {.address = operation.address, .count = static_cast<uint32_t>(output)};
      return;
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_trylock:
      object().kind = static_cast<uint32_t>(output) & kTypeMask;
      [[fallthrough]];
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
      if (in == 0) claim(object(), owner);
      return;
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_spin_unlock:
      if (in == 0) release(object());
      return;
    case HEDDLE_SYNC_cond_wait:
      if (!self.waits) {
        release(state.objects.get(operation.second));
        object().queue.push_back(owner);
        self.waits = true;
        return;
      }
      if (!self.woken) {
        std::vector<uint32_t>& queue = object().queue;
        const auto waiter = std::ranges::find(queue, owner);
        queue.erase(std::find(waiter, queue.end(), 0u));
        queue.erase(std::ranges::find(queue, owner));
      }
      self.waits = self.woken = false;
      claim(state.objects.get(operation.second), owner);
      return;
    case HEDDLE_SYNC_cond_signal: {
      std::vector<uint32_t>& queue = object().queue;
      const auto signals = std::ranges::count(queue, 0u);
      if (2 * signals < std::ssize(queue)) queue.push_back(0);
      return;
    }
    case HEDDLE_SYNC_cond_broadcast:
      for (const uint32_t waiter : object().queue)
        if (waiter != 0) state.threads[waiter - 1].woken = true;
      object().queue.clear();
      return;
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
      if (in == 0) ++object().count;
      return;
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
      if (in == 0) object().holder = owner;
      return;
    case HEDDLE_SYNC_rwlock_unlock:
      if (object().holder == owner)
        object().holder = 0;
      else if (object().count > 0)
        --object().count;
      return;
    case HEDDLE_SYNC_barrier_wait: {
      if (self.round != 0) {
        self.round = 0;
        return;
      }
      SyncObject& barrier = object();
      if (++barrier.arrived < barrier.count) {
        self.round = barrier.round + 1;
        return;
      }
      barrier.arrived = 0;
      ++barrier.round;
      return;
    }
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
      if (in == 0) --object().count;
      return;
    case HEDDLE_SYNC_sem_post:
      ++object().count;
      return;
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
      if (object().holder == owner)
        object() = {.address = operation.address, .done = true};
      else if (in != 0)
        object().holder = owner;
      return;
    case HEDDLE_SYNC_guard_release:
      object() = {.address = operation.address, .done = true};
      return;
    case HEDDLE_SYNC_guard_abort:
      object() = {.address = operation.address};
      return;
    case HEDDLE_SYNC_thread_create:
      if (in != 0) return;
      if (state.threads.size() <= operation.second) state.threads.resize(operation.second + 1);
      state.threads[operation.second].there = true;
      state.threads[operation.second].node = behaviour_.root(static_cast<uint32_t>(operation.second));
      return;
    case HEDDLE_SYNC_thread_end:
      self.over = true;
      return;
    default:
      return;
  }
}

void Machine::apply(MachineState& state, uint32_t thread, const Operation& operation,
                    const Behaviour::Edge& edge) const {
  ThreadState& self = state.threads[thread];
  const uint64_t output = edge.output;
  if (operation.is_sync()) {
    drain(state, thread);
    return apply_sync(state, thread, operation, edge.input, output);
  }
  if (operation.is_large()) {
    // As the runtime: what a call reads of its thread's own stores is in memory then.
    const auto is_buffered = [&](const Piece& piece) {
      return std::ranges::any_of(self.buffer, [&](const Store& store) {
        return resource_of_word(store.address) == resource_of_word(piece.address);
      });
    };
    const bool only_reads = operation.kind == HEDDLE_EVENT_read ||
                            (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_reads);
    if (!only_reads || (operation.kind == HEDDLE_EVENT_call && std::ranges::any_of(edge.read, is_buffered)))
      drain(state, thread);
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
      if (self.buffer.size() == kMostBuffered) flush(state, thread, self.buffer.front().address);
      const uint32_t number = self.next_number++;
      const bool release = operation.order == HEDDLE_ORDER_release || operation.order == HEDDLE_ORDER_acq_rel;
      self.buffer.push_back({.address = operation.address,
                             .size = operation.size,
                             .value = output,
                             .number = number,
                             .barrier = release ? number : self.barrier});
      return;
    }
    case HEDDLE_EVENT_update:
      drain(state, thread);
      return store(state, operation.address, operation.size, output);
    case HEDDLE_EVENT_fence:
      if (operation.order == HEDDLE_ORDER_seq_cst) drain(state, thread);
      if ((operation.order == HEDDLE_ORDER_release || operation.order == HEDDLE_ORDER_acq_rel) &&
          !self.buffer.empty())
        self.barrier = self.buffer.back().number + 1;
      return;
    default:
      return;
  }
}

bool Machine::is_awaiting(const MachineState& state, uint32_t thread) const {
  const NodeId at = state.threads[thread].node;
  const std::optional<uint64_t> awaited = behaviour_.awaits_change_of(at);
  const Operation& operation = behaviour_.node(at).operation;
  return awaited && !operation.is_large() && !is_private(operation) &&
         input(state, thread, operation) == awaited;
}

bool Machine::uses_freed(const MachineState& state, const Operation& operation) const {
  const uint64_t end = operation.address + std::max<uint64_t>(operation.size, 1);
  return operation.address != 0 && std::ranges::any_of(state.freed, [&](const auto& block) {
           return operation.address < block.first + block.second && block.first < end;
         });
}

bool Machine::is_private(const Operation& operation) const {
  return (operation.kind == HEDDLE_EVENT_read || operation.kind == HEDDLE_EVENT_update) &&
         behaviour_.is_private(operation.address);
}

// Of large operations: the one whose reads are as memory is now. How far a library function reads depends on
// what it reads, so there is one at most.
const Behaviour::Edge* Machine::next_edge(const MachineState& state, uint32_t thread) const {
  const NodeId at = state.threads[thread].node;
  const Behaviour::Node& node = behaviour_.node(at);
  if (uses_freed(state, node.operation)) return nullptr;
  if (!node.operation.is_large()) {
    if (is_private(node.operation)) return node.edges.empty() ? nullptr : &node.edges.front();
    const std::optional<uint64_t> in = input(state, thread, node.operation);
    return in ? behaviour_.edge(at, *in) : nullptr;
  }
  const auto holds = [&](const Piece& piece) {
    return behaviour_.is_private(piece.address) ||
           load(state, thread, piece.address, piece.size) == piece.value;
  };
  const auto found = std::ranges::find_if(
      node.edges, [&](const Behaviour::Edge& edge) { return std::ranges::all_of(edge.read, holds); });
  return found == node.edges.end() ? nullptr : &*found;
}

Machine::Step Machine::perform(MachineState& state, const Action& action) const {
  if (action.flush) {
    flush(state, action.thread, *action.flush);
    return Step::done;
  }
  const Behaviour::Edge* edge = next_edge(state, action.thread);
  if (edge == nullptr) return Step::unknown;
  apply(state, action.thread, behaviour_.node(state.threads[action.thread].node).operation, *edge);
  state.threads[action.thread].node = edge->to;
  state.exited |= ends_process(behaviour_.node(edge->to).state);
  return Step::done;
}

bool Machine::ends_all(const MachineState& state, uint32_t thread) const {
  if (!is_enabled(state, thread)) return false;
  const Behaviour::Edge* edge = next_edge(state, thread);
  return edge != nullptr && ends_process(behaviour_.node(edge->to).state);
}

// ---- learning from runs

std::string Machine::learn_operation(NodeId at, const heddle_event& event,
                                     const std::vector<uint32_t>& numbers) {
  if (std::string why = not_covered(event); !why.empty()) return why;
  Operation operation{.kind = event.kind,
                      .order = event.order,
                      .site = event.site,
                      .address = event.address,
                      .size = event.size,
                      .second = event.second};
  if (operation.is_sync()) {
    if (operation.sync() == HEDDLE_SYNC_thread_join) {
      if (event.second >= numbers.size()) return "a thread that is joined is not known";
      operation.second = numbers[event.second];
      operation.address = 0;
    }
    if (operation.sync() == HEDDLE_SYNC_thread_create) {
      uint32_t created = 0;
      for (NodeId node = behaviour_.node(at).parent; node != kUnknownNode;
           node = behaviour_.node(node).parent) {
        const Operation& before = behaviour_.node(node).operation;
        created += before.is_sync() && before.sync() == HEDDLE_SYNC_thread_create;
      }
      operation.second = behaviour_.thread(behaviour_.name(behaviour_.node(at).thread).child(created));
    }
  }
  return behaviour_.add_operation(at, operation) ? "" : "a thread did something else after the same inputs";
}

std::string Machine::pending(const MachineState& state, const heddle_event& event,
                             const std::vector<uint32_t>& numbers) {
  const uint32_t thread = numbers[event.thread];
  if (thread >= state.threads.size() || !state.threads[thread].there || state.threads[thread].over) return "";
  return learn_operation(state.threads[thread].node, event, numbers);
}

// What is in memory must be what was read; what nobody has written is learned.
bool Machine::agrees(const MachineState& state, uint32_t thread, const Piece& piece) {
  if (behaviour_.is_private(piece.address)) return true;
  if (const std::optional<uint64_t> expected = load(state, thread, piece.address, piece.size))
    return *expected == piece.value;
  Word& word = initial_.get(piece.address & ~uint64_t{7});
  const unsigned shift = 8 * (piece.address % 8);
  const uint64_t fresh = mask_of(piece.size) << shift & ~word.known;
  word.value |= piece.value << shift & fresh;
  word.known |= fresh;
  return load(state, thread, piece.address, piece.size) == piece.value;
}

std::string Machine::follow(MachineState& state, const heddle_event& event, std::span<const heddle_event> data,
                            const std::vector<uint32_t>& numbers) {
  const uint32_t thread = numbers[event.thread];
  if (thread >= state.threads.size() || !state.threads[thread].there) return "a thread that nobody created";
  const NodeId at = state.threads[thread].node;
  if (std::string why = learn_operation(at, event, numbers); !why.empty()) return why;
  const Operation operation = behaviour_.node(at).operation;  // a copy: nodes move
  if (!is_enabled(state, thread)) return "something happened that should have had to wait";
  Behaviour::Edge edge{.output = output_of(event)};
  const auto other = [](uint64_t address) {
    return fmt::format("what was read at {:#x} is not what was written there", address);
  };
  if (operation.is_large()) {
    Hasher128 hasher;
    edge.output = 0;
    for (const heddle_event& each : data) {
      const Piece piece{.address = each.address, .size = each.size, .value = each.value};
      (each.order == 0 ? edge.read : edge.written).push_back(piece);
      if (each.order != 0) continue;
      if (!agrees(state, thread, piece)) return other(piece.address);
      hasher.add(piece.address);
      hasher.add(piece.value);
    }
    edge.input = hasher.hash().low;
  } else if (operation.kind == HEDDLE_EVENT_read || operation.kind == HEDDLE_EVENT_update) {
    edge.input = event.value;
    if (!agrees(state, thread, {.address = operation.address, .size = operation.size, .value = event.value}))
      return other(operation.address);
  } else {
    edge.input = operation.is_sync() ? event.after : 0;
    if (const uint64_t expected = *input(state, thread, operation); expected != edge.input)
      return fmt::format("the result of {} was {:#x}, and should have been {:#x}",
                         sync_name(event.kind - uint32_t{HEDDLE_EVENT_sync}), edge.input, expected);
  }
  if (is_private(operation) && !behaviour_.node(at).edges.empty() &&
      behaviour_.node(at).edges[0].input != edge.input)
    return "memory that only one thread uses is not always the same after the same inputs";
  const NodeId to = behaviour_.add_edge(at, edge);
  if (to == kUnknownNode) return "a thread wrote something else after the same inputs";
  apply(state, thread, operation, edge);
  state.threads[thread].node = to;
  if (state.threads[thread].over) behaviour_.add_state(to, Behaviour::State::over);
  return "";
}

// ---- fingerprints

Hash128 Machine::hash(const MachineState& state) const {
  Hasher128 hasher;
  for (const ThreadState& thread : state.threads) {
    hasher.add(uint64_t{thread.node} << 32 | thread.round << 3 | thread.woken << 2 | thread.over << 1 |
               thread.there);
    for (const Store& store : thread.buffer) {
      hasher.add(store.number);
      hasher.add(store.value);
    }
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
    if (!is_read(resource_of_word(word.address))) continue;
    hasher.add(word.address);
    hasher.add(word.value);
  }
  for (const SyncObject& object : state.objects) {
    hasher.add(object.address);
    hasher.add(uint64_t{object.holder} << 32 | object.count);
    hasher.add(uint64_t{object.arrived} << 32 | object.round << 1 | object.done);
    for (const uint32_t waiter : object.queue) hasher.add(waiter);
  }
  for (const auto& [address, size] : state.freed) hasher.add(address);
  return hasher.hash();
}

Hash128 Machine::inputs_hash(const MachineState& state) {
  Hasher128 hasher;
  for (const ThreadState& thread : state.threads) hasher.add(thread.there ? thread.node : kUnknownNode);
  return hasher.hash();
}

}  // namespace heddle
