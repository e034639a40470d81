// Runs of the program carried out by the machine, and what they tell.
#include <fmt/format.h>

#include <cerrno>
#include <tuple>

#include "explore/machine.h"
#include "replay/failure.h"

namespace heddle {
namespace {

std::string depends_on_more(std::string_view what) {
  return fmt::format("{}, so it depends on what is not seen (state of a library, the clock, a file)", what);
}

// Counts of semaphores follow from what is done to them, but for the first.
uint64_t output_of(const heddle_event& event) {
  switch (event.kind) {
    case HEDDLE_EVENT_write:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_lock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_timedlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_trylock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_rdlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_timedrdlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_tryrdlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_wrlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_rwlock_timedwrlock:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_sem_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_barrier_init:
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_end:
      return event.value;
    case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_unlock:
      return event.value & HEDDLE_MUTEX_LOST;
    case HEDDLE_EVENT_update:
      return event.after;
    default:
      return 0;
  }
}

}  // namespace

std::string OperationalMachine::not_covered(const heddle_event& event) const {
  switch (event.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_update:
      return event.size > kLargestAccess ? "a very large access" : "";
    case HEDDLE_EVENT_fence:
      return "";
    case HEDDLE_EVENT_call:
      if (event.order == HEDDLE_CALL_frees && event.size > kLargestAccess)
        return "the end of a very large block";
      return "";
    default:
      break;
  }
  switch (event.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_mutex_init:
    case HEDDLE_SYNC_mutex_destroy:
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_rwlock_init:
    case HEDDLE_SYNC_rwlock_destroy:
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_unlock:
      return "";
    case HEDDLE_SYNC_futex:
      return event.size == HEDDLE_PART_none ? "a futex with a bit set, or requeueing" : "";
    case HEDDLE_SYNC_cond_init:
    case HEDDLE_SYNC_cond_destroy:
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
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
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_sem_getvalue:
    case HEDDLE_SYNC_thread_create:
    case HEDDLE_SYNC_thread_begin:
    case HEDDLE_SYNC_thread_end:
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
    case HEDDLE_SYNC_guard_release:
    case HEDDLE_SYNC_guard_abort:
    case HEDDLE_SYNC_thread_detach:
    case HEDDLE_SYNC_thread_cancel:
    case HEDDLE_SYNC_thread_testcancel:
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_key_create:
    case HEDDLE_SYNC_key_delete:
    case HEDDLE_SYNC_key_get:
    case HEDDLE_SYNC_key_set:
    case HEDDLE_SYNC_yield:
    case HEDDLE_SYNC_sleep:
    case HEDDLE_SYNC_attribute:
    case HEDDLE_SYNC_process_exit:
      return "";
    case HEDDLE_SYNC_file_wait:
      if (event.size >= HEDDLE_PART_channel_make) return "";
      return "a thread waits for something outside of the program: a file, a pipe, a child process";
    default:
      return fmt::format("synchronisation of a kind that is not followed ({})",
                         sync_name(event.kind - uint32_t{HEDDLE_EVENT_sync}));
  }
}

std::string OperationalMachine::learn_operation(NodeId at, const heddle_event& event,
                                                const std::vector<uint32_t>& numbers) {
  if (std::string why = not_covered(event); !why.empty()) return why;
  Operation operation{.kind = event.kind,
                      .order = event.order,
                      .drained = event.drained != 0,
                      .site = event.site,
                      .address = event.address,
                      .size = event.size,
                      .second = event.second};
  if (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_object &&
      output_sites_.contains(operation.site))
    operation.order = HEDDLE_CALL_writes;
  if (operation.is_sync()) {
    if (operation.joins() || operation.sync() == HEDDLE_SYNC_thread_cancel) {
      if (event.second >= numbers.size()) return "a thread that is joined or cancelled is not known";
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
  return behaviour_.add_operation(at, operation)
             ? ""
             : depends_on_more("a thread did something else after the same inputs");
}

std::string OperationalMachine::pending(const MachineState& state, const heddle_event& event,
                                        const std::vector<uint32_t>& numbers) {
  const uint32_t thread = numbers[event.thread];
  if (thread >= state.threads.size() || !state.threads[thread].there || state.threads[thread].over) return "";
  return learn_operation(state.threads[thread].node, event, numbers);
}

// What memory holds that nobody has written yet.
void OperationalMachine::learn_initial(const MachineState& state, const Piece& piece, uint64_t but) {
  const uint64_t base = piece.address & ~uint64_t{7};
  const unsigned shift = 8 * (piece.address - base);
  uint64_t fresh = mask_of(piece.size) << shift & ~but;
  if (const Word* written = state.memory.find(base)) fresh &= ~written->known;
  const Word* word = initial_.find(base);
  if (word != nullptr) fresh &= ~word->known;
  if (fresh == 0) return;
  Word& learned = initial_.get(base);
  learned.value |= piece.value << shift & fresh;
  learned.known |= fresh;
}

// What is in memory must be what was read; what nobody has written is learned.
bool OperationalMachine::agrees(const MachineState& state, uint32_t thread, const Piece& piece) {
  if (behaviour_.is_private(piece.address)) return true;
  if (const std::optional<uint64_t> expected = load(state, thread, piece.address, piece.size))
    return *expected == piece.value;
  uint64_t buffered = 0;  // bytes of the word that are from the thread's own stores
  for (const Store& store : state.threads[thread].buffer)
    if (store.address / 8 == piece.address / 8) buffered |= mask_of(store.size) << 8 * (store.address % 8);
  learn_initial(state, piece, buffered);
  return load(state, thread, piece.address, piece.size) == piece.value;
}

// What the first runs show of objects that were there before: keys, words of futexes, what is done once.
std::string OperationalMachine::learn_sync(const MachineState& state, uint32_t thread,
                                           const Operation& operation, const heddle_event& event,
                                           uint64_t& in) {
  if (!operation.is_sync()) return "";
  if (operation.joins()) {
    if (event.after != 0 && event.after != EBUSY && event.after != ETIMEDOUT && event.after != ECANCELED)
      return "a thread is joined twice";
    in = event.after != 0 ? event.after : joined_input(operation, event.value);
  }
  if (operation.sync() == HEDDLE_SYNC_thread_cancel && event.value != 0) return "an asynchronous cancellation";
  if (operation.sync() == HEDDLE_SYNC_thread_end) in = *sync_input(state, thread, operation);
  if (operation.sync() == HEDDLE_SYNC_key_create) {
    if (event.after != 0) return "the program has no more keys";
    in = event.value;
    if (!first_key_) first_key_ = in;  // it makes the table's first
  }
  if (operation.sync() == HEDDLE_SYNC_key_delete && event.after == 0 &&
      (!first_key_ || operation.second < *first_key_))
    return "the end of a key that was there before";
  if ((operation.sync() == HEDDLE_SYNC_once || operation.sync() == HEDDLE_SYNC_guard_acquire) &&
      event.after == 0 && state.objects.find(operation.address) == nullptr)
    done_before_.insert(operation.address);  // by a constructor; by the C++ library, for its locales
  const bool compares = operation.sync() == HEDDLE_SYNC_futex &&
                        (operation.size == HEDDLE_PART_compare || operation.size == HEDDLE_PART_timed_compare);
  if (compares && !is_private(operation) && !load(state, thread, operation.address, 4)) {
    if (in != 0) return "a futex whose word nobody has read";
    agrees(state, thread, {.address = operation.address, .size = 4, .value = operation.second});
  }
  return "";
}

std::string OperationalMachine::follow(MachineState& state, const heddle_event& event,
                                       std::span<const heddle_event> data,
                                       const std::vector<uint32_t>& numbers) {
  const uint32_t thread = numbers[event.thread];
  if (thread >= state.threads.size() || !state.threads[thread].there) return "a thread that nobody created";
  const NodeId at = state.threads[thread].node;
  if (std::string why = learn_operation(at, event, numbers); !why.empty()) return why;
  const Operation operation = behaviour_.node(at).operation;  // a copy: nodes move
  if (state.is_unclear) return "a cancellation of a thread that may have got a signal";
  if (!is_enabled(state, thread)) return "something happened that should have had to wait";
  Behaviour::Edge edge{.output = output_of(event), .cancelled = state.threads[thread].cancelled};
  const auto other = [](uint64_t address) {
    return fmt::format("what was read at {:#x} is not what was written there", address);
  };
  if (operation.is_channel())
    if (std::string why = channel_problem(state, thread, operation); !why.empty()) return why;
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
    if (operation.is_channel()) {
      const std::vector<uint8_t> came = channel_bytes(state, operation);
      const uint64_t expected = operation.size == HEDDLE_PART_channel_write  ? operation.second
                                : operation.size == HEDDLE_PART_channel_read ? came.size()
                                                                             : 0;
      if (event.after != expected || bytes_of(edge.written) != came)
        return "what came out of a pipe is not what was put into it";
      for (const uint8_t each : came) hasher.add(each);
      hasher.add(came.size());
    }
    if (is_opaque(operation)) edge.output = object_at(state, operation.address).history;
    hasher.add(edge.output);
    edge.input = hasher.hash().low;
  } else if (operation.kind == HEDDLE_EVENT_read || operation.kind == HEDDLE_EVENT_update) {
    edge.input = event.value;
    if (!agrees(state, thread, {.address = operation.address, .size = operation.size, .value = event.value}))
      return other(operation.address);
  } else {
    if (operation.kind == HEDDLE_EVENT_write && !behaviour_.is_private(operation.address))
      learn_initial(state, {.address = operation.address, .size = operation.size, .value = event.after}, 0);
    edge.input = operation.is_sync() ? event.after : 0;
    if (std::string why = learn_sync(state, thread, operation, event, edge.input); !why.empty()) return why;
    if (waits_with_robust(state, operation)) return "a condition with a robust mutex";
    const std::optional<uint64_t> expected = input(state, thread, operation);
    if (!is_private(operation) && expected != edge.input)
      return fmt::format("the result of {} was {:#x}, and should have been {:#x}",
                         sync_name(event.kind - uint32_t{HEDDLE_EVENT_sync}), edge.input, expected.value_or(0));
  }
  // What a thread finds in the format of a stream is whatever it is. What it stores in that of a stream of its
  // own was looked at later, when a library may have used the memory otherwise (a frame that ended).
  const bool is_own_write = operation.kind == HEDDLE_EVENT_write && behaviour_.formats(operation.site) &&
                            behaviour_.is_private(operation.address);
  const bool is_undefined = is_private(operation) && undefined_sites_.contains(operation.site);
  if (is_own_write || is_undefined || behaviour_.is_format(operation.address)) {
    const auto known =
        std::ranges::find(behaviour_.node(at).edges, edge.cancelled, &Behaviour::Edge::cancelled);
    if (known != behaviour_.node(at).edges.end())
      std::tie(edge.input, edge.output) = std::tie(known->input, known->output);
  }
  const auto is_other = [&](const Behaviour::Edge& known) {
    return known.cancelled == edge.cancelled && known.input != edge.input;
  };
  if (is_private(operation) && std::ranges::any_of(behaviour_.node(at).edges, is_other))
    return depends_on_more("memory that only one thread uses is not always the same after the same inputs");
  const NodeId to = behaviour_.add_edge(at, edge);
  if (to == kUnknownNode) return depends_on_more("a thread wrote something else after the same inputs");
  edge.to = to;  // the history of a library's object knows where its user stood
  apply(state, thread, operation, edge);
  state.threads[thread].node = to;
  if (state.threads[thread].over) behaviour_.add_state(to, Behaviour::State::over);
  return "";
}

}  // namespace heddle
