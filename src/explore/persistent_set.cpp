#include "explore/persistent_set.h"

#include <algorithm>

namespace heddle {
namespace {

bool is_there(const MachineState& state, uint32_t thread) {
  return thread < state.threads.size() && state.threads[thread].there;
}

}  // namespace

void PersistentSet::describe_thread(const MachineState& state, uint32_t thread, bool& awaits) {
  Member& member = members_[thread];
  member.actions.clear();
  member.uses.clear();
  if (!is_there(state, thread)) {
    member.uses.push_back({resource_of_thread(thread), true});
    return;
  }
  const ThreadState& self = state.threads[thread];
  const Behaviour::Node& node = behaviour_.node(self.node);
  if (self.over || state.exited || node.state != Behaviour::State::goes_on) return;
  const bool awaits_change = machine_.waits_in_loop(state, thread);
  awaits |= awaits_change;
  const bool waits = awaits_change || (at_once_ && !machine_.flushes(state, thread).empty());
  if (machine_.is_enabled(state, thread) && !waits) member.actions.push_back({.thread = thread});
  if (machine_.may_time_out(state, thread) && !waits)
    member.actions.push_back({.thread = thread, .timeout = true});
  behaviour_.uses_always(node, member.uses);
  if (machine_.buffers(node.operation)) return;
  behaviour_.uses(node, member.uses);
  if (awaits_change)  // whether it does depends on all that the loop reads, whichever operation is the next
    for (const Behaviour::Round& round : {behaviour_.known_wait(self.node), behaviour_.last_round(self.node)})
      for (const auto& [operation, input] : round) behaviour_.uses({.operation = operation}, member.uses);
  if (node.operation.kind != HEDDLE_EVENT_read)  // may empty the buffer
    for (const Store& store : self.buffer) add_memory(member.uses, store.address, store.size, true);
  std::ranges::sort(member.uses);
}

void PersistentSet::describe_buffers(const MachineState& state) {
  for (uint32_t t = 0; t < count_; ++t) {
    Member& member = members_[count_ + t];
    member.actions.clear();
    member.uses.clear();
    member.stores.clear();
    member.wanted.clear();
    if (!is_there(state, t) || state.exited) continue;
    for (const Store& store : state.threads[t].buffer)
      add_memory(member.stores, store.address, store.size, true);
    std::ranges::sort(member.stores);
    member.wanted.resize(state.threads[t].buffer.size());
  }
  while (want_more(state)) {
  }
  for (uint32_t t = 0; t < count_; ++t) {
    Member& member = members_[count_ + t];
    if (member.wanted.empty()) continue;
    const std::vector<Store>& buffer = state.threads[t].buffer;
    for (const Action& flush : machine_.flushes(state, t)) {
      const auto store = std::ranges::find(buffer, *flush.flush, &Store::address);
      bool wanted = false;  // a piece of it
      for (auto piece = store; piece != buffer.end() && piece->number == store->number; ++piece)
        wanted |= member.wanted[static_cast<size_t>(piece - buffer.begin())];
      if (wanted) member.actions.push_back(flush);
    }
  }
}

// Which stores somebody could tell if they became visible now: who touches the memory next, what becomes
// visible there from another buffer (the thread itself may read that then), what has to come before such a
// store. `uses` of buffers grow. Answers whether there was one more.
bool PersistentSet::want_more(const MachineState& state) {
  bool more = false;
  for (uint32_t t = 0; t < count_; ++t) {
    Member& member = members_[count_ + t];
    for (size_t i = member.wanted.size(); i-- > 0;) {
      if (member.wanted[i]) continue;
      const std::vector<Store>& buffer = state.threads[t].buffer;
      std::vector<Use>& use = use_;
      use.clear();
      add_memory(use, buffer[i].address, buffer[i].size, true);
      bool wanted = at_once_;
      for (size_t other = 0; other < members_.size() && !wanted; ++other)
        wanted = other % count_ != t && conflict(use, members_[other].uses);
      for (size_t younger = i + 1; younger < buffer.size() && !wanted; ++younger)
        wanted = member.wanted[younger] && machine_.holds_back(buffer[i], buffer[younger]);
      if (!wanted) continue;
      member.wanted[i] = more = true;
      for (const Use& each : use) member.uses.insert(std::ranges::lower_bound(member.uses, each), each);
    }
  }
  return more;
}

bool PersistentSet::will_conflict(const MachineState& state, const std::vector<Use>& uses,
                                  size_t member) const {
  if (member >= count_) return conflict(uses, members_[member].stores);
  const auto thread = static_cast<uint32_t>(member);
  if (!is_there(state, thread)) return conflict(uses, behaviour_.node(behaviour_.root(thread)).future);
  return !state.threads[thread].over && conflict(uses, behaviour_.node(state.threads[thread].node).future);
}

// Those that have to be in a set with it.
const std::vector<size_t>& PersistentSet::needed_by(const MachineState& state, size_t each) {
  std::optional<std::vector<size_t>>& needed = members_[each].needed;
  if (needed) return *needed;
  needed.emplace();
  const auto thread = static_cast<uint32_t>(each);
  const bool ends_all =
      each < count_ && (machine_.ends_all(state, thread) || machine_.begins_alone(state, thread));
  for (size_t other = 0; other < members_.size(); ++other) {
    const bool own_buffer = other == each + count_ || each == other + count_;
    if (other != each && (ends_all || (!own_buffer && will_conflict(state, members_[each].uses, other))))
      needed->push_back(other);
  }
  return *needed;
}

// Not all of it when it has `most` actions: then it is not wanted.
std::vector<Action> PersistentSet::closed_set(const MachineState& state, size_t first, size_t most) {
  inside_ = {first};
  std::vector<Action> actions;
  for (size_t i = 0; i < inside_.size() && actions.size() < most; ++i) {
    const Member& member = members_[inside_[i]];
    actions.insert(actions.end(), member.actions.begin(), member.actions.end());
    for (const size_t other : needed_by(state, inside_[i]))
      if (std::ranges::find(inside_, other) == inside_.end()) inside_.push_back(other);
  }
  return actions;
}

std::vector<Action> PersistentSet::find(const MachineState& state, bool& awaits) {
  count_ = behaviour_.thread_count();
  members_.resize(2 * count_);
  for (Member& member : members_) member.needed.reset();
  for (uint32_t t = 0; t < count_; ++t) {
    describe_thread(state, t, awaits);
  }
  describe_buffers(state);
  std::vector<Action> best;
  for (size_t first = 0; first < members_.size() && best.size() != 1; ++first) {
    if (members_[first].actions.empty()) continue;
    std::vector<Action> found = closed_set(state, first, best.empty() ? SIZE_MAX : best.size());
    if (best.empty() || found.size() < best.size()) best = std::move(found);
  }
  return best;
}

std::vector<Action> PersistentSet::possible() const {
  std::vector<Action> out;
  for (const Member& member : members_) out.insert(out.end(), member.actions.begin(), member.actions.end());
  return out;
}

}  // namespace heddle
