#include "explore/closure.h"

#include <algorithm>
#include <deque>

namespace heddle {

void Closure::read_trace(const MachineState& start, std::span<const Action> trace) {
  events_.assign(behaviour_.thread_count(), {});
  remaining_.assign(behaviour_.thread_count(), {});
  MachineState state = start;
  std::vector<std::vector<std::vector<Use>>> uses(behaviour_.thread_count());
  for (const Action& action : trace) {
    const bool runs = !action.flush && !action.timeout;
    const NodeId at = runs ? state.threads[action.thread].node : kUnknownNode;
    if (runs) uses[action.thread].push_back(step_at(behaviour_, machine_, state, action).uses);
    if (machine_.perform(state, action) == OperationalMachine::Step::unknown) break;
    if (!runs) continue;
    const NodeId to = state.threads[action.thread].node;
    const Behaviour::Edge& edge = *std::ranges::find(behaviour_.node(at).edges, to, &Behaviour::Edge::to);
    events_[action.thread].push_back({.operation = behaviour_.node(at).operation,
                                      .from = at,
                                      .to = to,
                                      .input = edge.input,
                                      .output = edge.output});
  }
  end_ = state;
  for (uint32_t t = 0; t < events_.size(); ++t) {
    std::vector<Use> later;
    // What it would have done next; for all that nobody knows: everything that was seen of the thread behind
    // it.
    const bool there = t < state.threads.size() && state.threads[t].there;
    if (!there || !state.threads[t].over)
      later = behaviour_.node(there ? state.threads[t].node : behaviour_.root(t)).future;
    remaining_[t].resize(events_[t].size() + 1);
    remaining_[t].back() = later;
    for (size_t i = events_[t].size(); i-- > 0;) {
      // Stores count where they are made: when they become visible is not known.
      std::vector<Use> own = uses[t][i];
      const Operation& operation = events_[t][i].operation;
      if (machine_.buffers(operation)) add_memory(own, operation.address, operation.size, true);
      later.insert(later.end(), own.begin(), own.end());
      std::ranges::sort(later);
      later.erase(std::ranges::unique(later).begin(), later.end());
      remaining_[t][i] = later;
    }
  }
}

// Mutexes are not nested and are given back, nobody goes round a loop that waits, the run came to its end:
// nobody can wait for ever in another order either.
std::optional<RunEvents> Closure::run_events(const MachineState& start) const {
  constexpr size_t kMostEvents = 1000;
  RunEvents out{.model = machine_.model(), .values_are_fixed = values_ == FixedValues::all};
  std::vector<size_t> first(events_.size(), SIZE_MAX), last(events_.size(), SIZE_MAX);
  std::vector<std::pair<uint64_t, size_t>> left;  // mutexes that were held before: by whom, until which event
  for (uint32_t t = 0; t < events_.size(); ++t) {
    const bool there = t < start.threads.size() && start.threads[t].there;
    if (there)
      for (const Store& store : start.threads[t].buffer)
        if (!behaviour_.is_private(store.address))
          out.events.push_back({.kind = RunEvent::Kind::writes,
                                .thread = t,
                                .address = store.address,
                                .size = store.size,
                                .out = store.value});
    std::optional<uint64_t> held;
    for (const SyncObject& object : start.objects) {
      if (object.holder != t + 1) continue;
      if (held) return std::nullopt;
      held = object.address;
    }
    std::optional<size_t> section;
    for (size_t i = 0; i < events_[t].size(); ++i) {
      const Operation& operation = events_[t][i].operation;
      const Behaviour::Node& from = behaviour_.node(events_[t][i].from);
      if (from.waiting == Behaviour::Node::Waiting::yes || !behaviour_.known_wait(events_[t][i].from).empty() ||
          operation.is_large())
        return std::nullopt;
      const bool returns = operation.is_sync() && operation.sync() == HEDDLE_SYNC_thread_join;  // a value
      if (operation.is_sync() && !returns && events_[t][i].input != 0) return std::nullopt;
      RunEvent event{.thread = t,
                     .index = i,
                     .address = operation.address,
                     .size = operation.size,
                     .in = events_[t][i].input,
                     .out = events_[t][i].output,
                     .lock = section};
      const size_t number = out.events.size();
      const bool is_private = !operation.is_sync() && behaviour_.is_private(operation.address);
      if (operation.kind == HEDDLE_EVENT_read || operation.kind == HEDDLE_EVENT_update)
        event.initial = machine_.in_memory(start, operation.address, operation.size);
      if (operation.kind == HEDDLE_EVENT_update) {
        event.kind = RunEvent::Kind::updates;
        if (is_private) event.kind = RunEvent::Kind::drains;
      } else if (operation.kind == HEDDLE_EVENT_fence) {
        if (operation.order == HEDDLE_ORDER_seq_cst) event.kind = RunEvent::Kind::drains;
      } else if (!operation.is_sync()) {
        if (!is_private)
          event.kind = operation.kind == HEDDLE_EVENT_read ? RunEvent::Kind::reads : RunEvent::Kind::writes;
      } else {
        event.kind = RunEvent::Kind::drains;
        switch (operation.sync()) {
          case HEDDLE_SYNC_mutex_lock:
            if (held) return std::nullopt;
            held = operation.address;
            event.kind = RunEvent::Kind::locks;
            section = number;
            break;
          case HEDDLE_SYNC_mutex_unlock:
            if (held != operation.address) return std::nullopt;
            held.reset();
            event.kind = RunEvent::Kind::unlocks;
            out.unlock_of.resize(number + 1, SIZE_MAX);
            if (section)
              out.unlock_of[*section] = number;
            else
              left.emplace_back(operation.address, number);
            section.reset();
            break;
          case HEDDLE_SYNC_mutex_init:
          case HEDDLE_SYNC_mutex_destroy:
          case HEDDLE_SYNC_thread_create:
          case HEDDLE_SYNC_thread_begin:
          case HEDDLE_SYNC_thread_end:
          case HEDDLE_SYNC_thread_join:
          case HEDDLE_SYNC_yield:
          case HEDDLE_SYNC_process_exit:
            break;
          default:
            return std::nullopt;
        }
      }
      if (first[t] == SIZE_MAX) first[t] = number;
      last[t] = number;
      out.events.push_back(event);
    }
    const bool is_over = t < end_.threads.size() && end_.threads[t].over;
    if (held || (!is_over && !end_.exited) || out.events.size() > kMostEvents) return std::nullopt;
  }
  out.unlock_of.resize(out.events.size(), SIZE_MAX);
  for (size_t i = 0; i < out.events.size(); ++i) {
    const RunEvent& event = out.events[i];
    if (event.kind == RunEvent::Kind::locks)
      for (const auto& [mutex, unlock] : left)
        if (mutex == event.address && out.events[unlock].thread != event.thread)
          out.joins.emplace_back(unlock, i);
    if (event.kind != RunEvent::Kind::drains) continue;
    const Operation& operation = events_[event.thread][event.index].operation;
    if (!operation.is_sync()) continue;
    const size_t other = operation.second;
    if (operation.sync() == HEDDLE_SYNC_thread_create && first[other] != SIZE_MAX)
      out.joins.emplace_back(i, first[other]);
    if (operation.sync() == HEDDLE_SYNC_thread_join && last[other] != SIZE_MAX)
      out.joins.emplace_back(last[other], i);
  }
  return out;
}

void Closure::ask_engine(const MachineState& start) {
  open_.reset();
  asked_ = {};
  was_decided_ = false;
  if (engine_ == SeedEngine::machine) return;
  const std::optional<RunEvents> run = run_events(start);
  if (!run) return;
  const std::vector<bool> leaves =
      engine_ == SeedEngine::smt ? may_leave_by_smt(*run, asked_) : may_leave_by_saturation(*run, asked_);
  open_.emplace(events_.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const RunEvent& event = run->events[i];
    if (leaves[i]) (*open_)[event.thread] = std::max((*open_)[event.thread], event.index + 1);
  }
  // What those would have done next whom the end of the process has cut short.
  for (uint32_t t = 0; t < end_.threads.size(); ++t) {
    const ThreadState& thread = end_.threads[t];
    if (!thread.there || thread.over) continue;
    const Behaviour::State state = behaviour_.node(thread.node).state;
    if (state == Behaviour::State::goes_on || state == Behaviour::State::unknown) (*open_)[t] = SIZE_MAX;
  }
  was_decided_ = std::ranges::all_of(*open_, [](size_t each) { return each == 0; });
}

bool Closure::may_leave(const Place& place) const {
  if (!open_) return true;
  for (size_t t = 0; t < open_->size(); ++t)
    if ((*open_)[t] > (t < place.done.size() ? place.done[t] : 0)) return true;
  return false;
}

Closure::Meaning Closure::meaning_of(const Place& place, const Action& action) const {
  if (action.flush || action.timeout) return Meaning::follows;
  const uint32_t t = action.thread;
  const size_t done = t < place.done.size() ? place.done[t] : 0;
  if (t >= events_.size() || done >= events_[t].size()) return Meaning::leaves;
  const Behaviour::Edge* edge = machine_.next_edge(place.state, t);
  if (edge == nullptr) return Meaning::leaves;
  const Event& event = events_[t][done];
  if (edge->to == event.to) return Meaning::follows;
  if (values_ == FixedValues::all) return Meaning::leaves;
  // Where it strayed before, or strays now: it has to do the same, write the same, and be about to do the same.
  const Behaviour::Node& at = behaviour_.node(place.state.threads[t].node);
  const Behaviour::Node& next = behaviour_.node(edge->to);
  const Behaviour::Node& wanted = behaviour_.node(event.to);
  const bool is_read = at.operation.kind == HEDDLE_EVENT_read && !at.operation.is_large();
  const bool same = at.operation == event.operation && edge->output == event.output &&
                    (is_read || edge->input == event.input) && next.state == wanted.state &&
                    next.operation == wanted.operation;
  return same ? Meaning::strays : Meaning::leaves;
}

// Nobody else's events, nor what is in buffers, can be in conflict with it.
bool Closure::is_local(const Place& place, const Action& action) const {
  const PathStep step = step_at(behaviour_, machine_, place.state, action);
  if (step.ends_all) return false;
  for (uint32_t t = 0; t < events_.size(); ++t) {
    if (t == action.thread) continue;
    const bool there = t < place.state.threads.size() && place.state.threads[t].there;
    if (there && place.state.threads[t].over && place.state.threads[t].buffer.empty()) continue;
    const size_t done = t < place.done.size() ? place.done[t] : 0;
    if (conflict(step.uses, remaining_[t][std::min(done, remaining_[t].size() - 1)])) return false;
    if (!there) continue;
    std::vector<Use> buffered;
    for (const Store& store : place.state.threads[t].buffer)
      add_memory(buffered, store.address, store.size, true);
    std::ranges::sort(buffered);
    if (conflict(step.uses, buffered)) return false;
  }
  return true;
}

std::vector<Action> Closure::way_to(size_t entry) const {
  std::vector<Action> out;
  for (; entry != 0; entry = way_[entry].first) out.push_back(way_[entry].second);
  std::ranges::reverse(out);
  return out;
}

std::vector<Seed> Closure::seeds(const MachineState& start, std::span<const Action> trace,
                                 uint64_t most_states) {
  read_trace(start, trace);
  way_ = {{0, {}}};
  complete_ = true;
  states_ = 0;
  std::vector<Seed> out;
  ask_engine(start);
  if (was_decided_) return out;
  std::unordered_set<Hash128> visited, found;
  std::deque<Place> open = {{.state = start, .done = std::vector<uint32_t>(events_.size())}};
  visited.insert(machine_.full_hash(start));
  while (!open.empty()) {
    const Place place = std::move(open.front());
    open.pop_front();
    if (++states_ > most_states) {
      complete_ = false;
      break;
    }
    std::vector<Action> actions = actions_(place.state);
    const auto waits = [](const ThreadState& thread) { return thread.there && !thread.over; };
    if (actions.empty() && !place.state.exited && std::ranges::any_of(place.state.threads, waits))
      out.push_back({.path = way_to(place.entry), .key = machine_.full_hash(place.state), .stands = true});
    const auto local = std::ranges::find_if(actions, [&](const Action& action) {
      return !action.timeout && meaning_of(place, action) == Meaning::follows && is_local(place, action);
    });
    // A thread that may run out of time has another choice. Who leaves here is a seed all the same: nothing is
    // known of what it does next, and the same state behind the step may be known by a way that needs more
    // before it (a store that became visible by itself, or because the buffer was emptied).
    if (local != actions.end() && !machine_.may_time_out(place.state, local->thread)) {
      std::iter_swap(actions.begin(), local);
      actions.erase(
          std::remove_if(actions.begin() + 1, actions.end(),
                         [&](const Action& action) { return meaning_of(place, action) == Meaning::follows; }),
          actions.end());
    }
    for (const Action& action : actions) {
      const Meaning meaning = meaning_of(place, action);
      const uint64_t bit = uint64_t{1} << action.thread % 64;
      const bool strayed = (place.strayed & bit) != 0;
      const bool is_seed = meaning == Meaning::leaves || (meaning == Meaning::strays && !strayed);
      if (is_seed && !(strayed && values_ == FixedValues::needed_or_before)) {
        std::vector<Action> way = way_to(place.entry);
        way.push_back(action);
        Seed seed{.path = steps_before_last(behaviour_, machine_, start, way)};
        MachineState before = start;
        for (size_t i = 0; i + 1 < seed.path.size(); ++i) machine_.perform(before, seed.path[i]);
        const Hash128 state = machine_.full_hash(before);
        const std::hash<ThreadName> name;
        seed.key = hash_of({state.low, state.high, name(behaviour_.name(action.thread)), action.timeout,
                            action.flush.value_or(0)});
        if (found.insert(seed.key).second) out.push_back(std::move(seed));
      }
      if (meaning == Meaning::leaves) continue;
      Place next = place;
      if (machine_.perform(next.state, action) == OperationalMachine::Step::unknown) continue;
      if (next.done.size() < next.state.threads.size()) next.done.resize(next.state.threads.size());
      if (!action.flush && !action.timeout) ++next.done[action.thread];
      if (meaning == Meaning::strays) next.strayed |= bit;
      if (!may_leave(next) || !visited.insert(machine_.full_hash(next.state)).second) continue;
      next.entry = way_.size();
      way_.emplace_back(place.entry, action);
      open.push_back(std::move(next));
    }
  }
  return out;
}

}  // namespace heddle
