#include "explore/behaviour.h"

#include <algorithm>
#include <utility>

namespace heddle {

Behaviour::Behaviour() {
  thread(ThreadName());
}

uint32_t Behaviour::thread(const ThreadName& name) {
  const auto [found, fresh] = numbers_.try_emplace(name, thread_count());
  if (fresh) {
    names_.push_back(name);
    roots_.push_back(new_node(found->second, kUnknownNode));
  }
  return found->second;
}

NodeId Behaviour::new_node(uint32_t thread, NodeId parent) {
  nodes_.push_back({.thread = thread, .parent = parent});
  return static_cast<NodeId>(nodes_.size() - 1);
}

const Behaviour::Edge* Behaviour::edge(NodeId from, uint64_t input, bool cancelled) const {
  for (const Edge& edge : nodes_[from].edges)
    if (edge.input == input && edge.cancelled == cancelled) return &edge;
  return nullptr;
}

bool Behaviour::was_cancelled(NodeId at) const {
  return cancels_ && nodes_[at].parent != kUnknownNode && edge_to(at).cancelled;
}

bool Behaviour::add_operation(NodeId at, const Operation& operation) {
  Node& node = nodes_[at];
  if (node.state != State::unknown) return node.state == State::goes_on && node.operation == operation;
  node.state = State::goes_on;
  node.operation = operation;
  learned_.push_back(at);
  const bool asks_for_lives =
      operation.is_sync() && ((node.thread == 0 && operation.sync() == HEDDLE_SYNC_thread_end) ||
                              operation.size == HEDDLE_PART_robust);
  if (asks_for_lives && !lives_matter_) {
    lives_matter_ = true;
    ++changes_;
  }
  if (operation.is_sync() && operation.sync() == HEDDLE_SYNC_thread_cancel && !cancels_) {
    cancels_ = true;
    ++changes_;
  }
  note_uses(at, true);
  return true;
}

bool Behaviour::add_state(NodeId at, State state) {
  Node& node = nodes_[at];
  if (node.state == State::unknown) {
    node.state = state;
    learned_.push_back(at);
    changes_ += state == State::failed || state == State::exits;
  }
  return node.state == state;
}

NodeId Behaviour::add_edge(NodeId from, Edge added) {
  if (const Edge* known = edge(from, added.input, added.cancelled)) {
    const bool same =
        known->output == added.output && known->read == added.read && known->written == added.written;
    return same ? known->to : kUnknownNode;
  }
  learned_.push_back(from);
  if (const NodeId begin = begin_of_retry(from, added); begin != kUnknownNode) {
    added.to = begin;
    nodes_[from].edges.push_back(std::move(added));
    retries_[begin].push_back(from);
    add_future(from, std::vector<Use>(nodes_[begin].future), false);
    return begin;
  }
  added.to = new_node(nodes_[from].thread, from);
  const Hash128& before = nodes_[from].history;
  nodes_[added.to].history = hash_of({before.low, before.high, nodes_[from].operation.site, added.input});
  if (added.cancelled)
    nodes_[added.to].history = hash_of({nodes_[added.to].history.low, nodes_[added.to].history.high});
  const bool is_large = !added.read.empty() || !added.written.empty();
  nodes_[from].edges.push_back(std::move(added));
  count_rounds(nodes_[from].edges.back().to);
  if (is_large) note_uses(from, false);
  return nodes_[from].edges.back().to;
}

NodeId Behaviour::begin_of_retry(NodeId from, const Edge& last) const {
  constexpr size_t kLongestRetry = 12;
  struct Step {
    NodeId before;
    uint64_t input;
  };
  const auto is_lock = [&](const Step& step) {
    const Operation& operation = nodes_[step.before].operation;
    if (!operation.is_sync() || retry_sites_ == nullptr || !retry_sites_->contains(operation.site))
      return false;
    return operation.sync() == HEDDLE_SYNC_mutex_trylock ||
           (step.input == 0 &&
            (operation.sync() == HEDDLE_SYNC_mutex_lock || operation.sync() == HEDDLE_SYNC_mutex_unlock ||
             operation.sync() == HEDDLE_SYNC_yield));
  };
  std::vector<Step> steps = {{from, last.input}};  // the youngest first
  while (is_lock(steps.back()) && steps.size() < 2 * kLongestRetry &&
         nodes_[steps.back().before].parent != kUnknownNode)
    steps.push_back({nodes_[steps.back().before].parent, edge_to(steps.back().before).input});
  if (!is_lock(steps.back())) steps.pop_back();
  for (size_t round = 2; 2 * round <= steps.size(); ++round) {
    bool same = true, refused = false;
    std::unordered_map<uint64_t, int> held;
    for (size_t i = round; i-- > 0 && same;) {
      const Operation& operation = nodes_[steps[i].before].operation;
      same = operation == nodes_[steps[i + round].before].operation && steps[i].input == steps[i + round].input;
      refused |= steps[i].input != 0;
      if (operation.sync() == HEDDLE_SYNC_mutex_unlock)
        same &= --held[operation.address] >= 0;
      else if (operation.sync() != HEDDLE_SYNC_yield && steps[i].input == 0)
        ++held[operation.address];
    }
    const bool nothing_left = std::ranges::all_of(held, [](const auto& each) { return each.second == 0; });
    if (same && refused && nothing_left) return steps[round - 1].before;
  }
  return kUnknownNode;
}

// ---- loops that wait

const Behaviour::Edge& Behaviour::edge_to(NodeId node) const {
  return *std::ranges::find(nodes_[nodes_[node].parent].edges, node, &Edge::to);
}

// The steps that lead to the two nodes: the same, and nobody can tell that they happened.
bool Behaviour::is_same_quiet_step(NodeId left, NodeId right) const {
  if (nodes_[left].parent == kUnknownNode || nodes_[right].parent == kUnknownNode) return false;
  const Operation& operation = nodes_[nodes_[left].parent].operation;
  if (operation != nodes_[nodes_[right].parent].operation || operation.is_large()) return false;
  const Edge &one = edge_to(left), &other = edge_to(right);
  if (one.input != other.input || one.output != other.output || one.cancelled != other.cancelled) return false;
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_fence:
      return true;
    case HEDDLE_EVENT_update:
      return one.input == one.output;
    case HEDDLE_EVENT_write:
      return false;
    default:
      if (operation.sync() == HEDDLE_SYNC_attribute) return false;
      if (operation.sync() == HEDDLE_SYNC_futex)
        return operation.size != HEDDLE_PART_wake &&
               (one.input != 0 || operation.size <= HEDDLE_PART_timed_compare);
      if (operation.sync() == HEDDLE_SYNC_cond_timedwait && begins_wait(nodes_[left].parent)) return true;
      return operation.sync() == HEDDLE_SYNC_yield || operation.sync() == HEDDLE_SYNC_sleep ||
             operation.sync() == HEDDLE_SYNC_thread_testcancel || one.input != 0;  // a try that failed
  }
}

// Of the two events of a wait, both with the same operation.
bool Behaviour::begins_wait(NodeId at) const {
  bool first = true;
  for (NodeId before = nodes_[at].parent;
       before != kUnknownNode && nodes_[before].operation == nodes_[at].operation;
       before = nodes_[before].parent)
    first = !first;
  return first;
}

bool Behaviour::has_times(const Round& round) {
  return std::ranges::any_of(round, [](const auto& step) {
    const Operation& operation = step.first;
    if (!operation.is_sync()) return false;
    switch (operation.sync()) {
      case HEDDLE_SYNC_sleep:
      case HEDDLE_SYNC_cond_timedwait:
      case HEDDLE_SYNC_mutex_timedlock:
      case HEDDLE_SYNC_rwlock_timedrdlock:
      case HEDDLE_SYNC_rwlock_timedwrlock:
      case HEDDLE_SYNC_sem_timedwait:
      case HEDDLE_SYNC_thread_timedjoin:
        return true;
      default:
        return operation.sync() == HEDDLE_SYNC_futex && operation.size == HEDDLE_PART_timed_go_on;
    }
  });
}

void Behaviour::count_rounds(NodeId node) {
  constexpr uint32_t kLongestRound = 12;
  std::vector<NodeId> before = {node};  // the last steps, the youngest first
  while (before.size() < 2 * kLongestRound && nodes_[before.back()].parent != kUnknownNode)
    before.push_back(nodes_[before.back()].parent);
  for (uint32_t round = 1; 2 * round <= before.size(); ++round) {
    bool same = true;
    for (uint32_t i = 0; same && i < round; ++i) same = is_same_quiet_step(before[i], before[i + round]);
    if (!same) continue;
    const Node& last = nodes_[before[round]];
    nodes_[node].round = round;
    nodes_[node].rounds = 1 + (last.round == round ? last.rounds : 1);
    return;
  }
}

Behaviour::Round Behaviour::last_round(NodeId at) const {
  const Node& node = nodes_[at];
  if (node.rounds < kRoundsOfSpinning || node.waiting == Node::Waiting::no) return {};
  return steps_of_round(at);
}

Behaviour::Round Behaviour::steps_of_round(NodeId at) const {
  Round out;
  const Node& node = nodes_[at];
  for (uint32_t i = 0; i < node.round; ++i, at = nodes_[at].parent)
    out.emplace_back(nodes_[nodes_[at].parent].operation, edge_to(at).input);
  std::ranges::reverse(out);
  return out;
}

bool Behaviour::knows_whether_waits(NodeId at) const {
  const Round round = last_round(at);
  const bool cancelled = was_cancelled(at);
  for (size_t i = 0; i < kRoundsOfWaiting * round.size(); ++i) {
    const auto& [operation, input] = round[i % round.size()];
    const Node& node = nodes_[at];
    if (node.state == State::unknown) return false;
    if (node.state != State::goes_on || node.operation != operation) return true;  // it has left the loop
    const Edge* next = edge(at, input, cancelled);
    if (next == nullptr) return false;
    at = next->to;
  }
  return true;
}

void Behaviour::note_waiting(NodeId at) {
  const Round round = last_round(at);
  std::vector<NodeId> way = {at};
  const bool cancelled = was_cancelled(at);
  bool same = true;
  for (size_t i = 0; i < kRoundsOfWaiting * round.size() && same; ++i) {
    const auto& [operation, input] = round[i % round.size()];
    const Node& node = nodes_[way.back()];
    const Edge* next = edge(way.back(), input, cancelled);
    same = node.state == State::goes_on && node.operation == operation && next != nullptr;
    if (same) way.push_back(next->to);
  }
  for (const NodeId each : way) set_waiting(each, same ? Node::Waiting::yes : Node::Waiting::no);
  if (!same || std::ranges::find(waits_, round) != waits_.end()) return;
  waits_.push_back(round);
  ++changes_;
}

const Behaviour::Round& Behaviour::known_wait(NodeId at) const {
  static const Round kNone;
  if (waits_.empty() || nodes_[at].state != State::goes_on || nodes_[at].waiting == Node::Waiting::no)
    return kNone;
  const bool cancelled = was_cancelled(at);
  for (const Round& round : waits_) {
    if (round.front().first != nodes_[at].operation) continue;
    NodeId behind = at;
    for (const auto& [operation, input] : round) {
      const Edge* next = nodes_[behind].operation == operation ? edge(behind, input, cancelled) : nullptr;
      behind = next == nullptr ? kUnknownNode : next->to;
      if (behind == kUnknownNode || nodes_[behind].state != State::goes_on) break;
    }
    if (behind == kUnknownNode || nodes_[behind].state != State::goes_on) continue;
    if (nodes_[behind].operation == round.front().first) return round;
  }
  return kNone;
}

bool Behaviour::is_private(uint64_t address) const {
  if (own_.contains(resource_of_memory(address))) return true;
  const auto found = words_.find(resource_of_memory(address));
  return found != words_.end() && found->second.thread != kShared;
}

void Behaviour::uses(const Node& node, std::vector<Use>& out) const {
  all_uses(node, out);
  std::erase_if(out, [&](const Use& use) {
    if (use.resource == resource_of_object(kAllLives)) return !lives_matter_;
    if (own_.contains(use.resource)) return true;
    const auto found = words_.find(use.resource);
    return found != words_.end() && found->second.thread != kShared;
  });
}

void Behaviour::uses_always(const Node& node, std::vector<Use>& out) const {
  if (cancels_) out.push_back({resource_of_cancellation(node.thread), false});
}

void Behaviour::note_uses(NodeId at, bool is_new) {
  std::vector<Use> used;
  all_uses(nodes_[at], used);
  const uint32_t thread = nodes_[at].thread;
  for (const Use& use : used) {
    if (use.resource >= kFirstOfObjects) {
      add_future(at, {use}, is_new);
      continue;
    }
    if (own_.contains(use.resource)) continue;
    note_use(thread, use.resource * kBytesOfResource, 1,
             nodes_[at].operation.site);  // pending operations are not noted before
    Words& word = words_.at(use.resource);
    if (word.thread == thread)
      word.uses.emplace_back(at, use.writes);
    else
      add_future(at, {use}, is_new);
  }
}

void Behaviour::note_use(uint32_t thread, uint64_t address, uint64_t size, uint32_t site) {
  const uint64_t first = resource_of_memory(address), last = resource_of_memory(address + size - 1);
  const bool is_format = formats(site);
  for (uint64_t resource = first; resource <= last && !is_format; ++resource)
    mixed_formats_ |= formats_.contains(resource);
  if (own_.contains(first)) return;
  for (uint64_t resource = first; resource <= last; ++resource) {
    const uint64_t neighbour = resource ^ 1;  // in its word
    Words& word = words_.try_emplace(resource, Words{.thread = thread}).first->second;
    word.joined |= neighbour >= first && neighbour <= last;
    word.only_format &= is_format;
  }
  for (uint64_t resource = first; resource <= last; ++resource) {
    const Words& word = words_.at(resource);
    if (word.thread == thread && (!word.joined || words_.at(resource ^ 1).thread == thread)) continue;
    if (word.only_format) {
      own_.insert(resource);
      formats_.insert(resource);
    } else {
      share(resource);
    }
  }
}

void Behaviour::share(uint64_t resource) {
  Words& word = words_.at(resource);
  if (word.thread == kShared) return;
  word.thread = kShared;
  ++shared_;
  ++changes_;
  for (const auto& [node, writes] : std::exchange(word.uses, {})) add_future(node, {{resource, writes}}, false);
  if (words_.at(resource).joined) share(resource ^ 1);
}

// `is_new`: nobody can have asked for that of `from` before.
void Behaviour::add_future(NodeId from, const std::vector<Use>& uses, bool is_new) {
  for (NodeId at = from; at != kUnknownNode; at = nodes_[at].parent) {
    std::vector<Use>& future = nodes_[at].future;
    bool grown = false;
    for (const Use& use : uses) {
      const auto place = std::ranges::lower_bound(future, use);
      if (place != future.end() && *place == use) continue;
      future.insert(place, use);
      ++future_size_;
      grown = true;
    }
    if (!grown) return;
    if (at != from || !is_new) ++changes_;
    if (const auto back = retries_.find(at); back != retries_.end())
      for (const NodeId each : std::vector<NodeId>(back->second)) add_future(each, uses, false);
  }
}

void Behaviour::all_uses(const Node& node, std::vector<Use>& out) {
  const Operation& operation = node.operation;
  const auto add = [&](uint64_t resource, bool writes) { out.push_back({resource, writes}); };
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_update:
      return add_memory(out, operation.address, operation.size, operation.kind != HEDDLE_EVENT_read);
    case HEDDLE_EVENT_fence:
      return;
    default:
      break;
  }
  if (operation.is_channel()) add(resource_of_object(operation.address), true);
  if (operation.kind == HEDDLE_EVENT_call || operation.is_channel()) {
    if (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_frees)
      add_memory(out, operation.address, operation.size, true);
    if (operation.kind == HEDDLE_EVENT_call && operation.order == HEDDLE_CALL_object)
      add(resource_of_object(operation.address), true);
    for (const Edge& edge : node.edges) {
      for (const Piece& piece : edge.read) add_memory(out, piece.address, piece.size, false);
      for (const Piece& piece : edge.written) add_memory(out, piece.address, piece.size, true);
    }
    return;
  }
  switch (operation.sync()) {
    case HEDDLE_SYNC_thread_create:
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
      return add(resource_of_thread(static_cast<uint32_t>(operation.second)), true);
    case HEDDLE_SYNC_thread_cancel:
      add(resource_of_cancellation(static_cast<uint32_t>(operation.second)), true);
      return add(resource_of_thread(static_cast<uint32_t>(operation.second)), true);
    case HEDDLE_SYNC_thread_end:
      add(resource_of_object(kAllLives), true);
      [[fallthrough]];
    case HEDDLE_SYNC_thread_begin:
      return add(resource_of_thread(node.thread), true);
    case HEDDLE_SYNC_process_exit:  // exit handlers begin; nobody else can tell
      return;
    case HEDDLE_SYNC_futex:
      if (operation.size == HEDDLE_PART_compare || operation.size == HEDDLE_PART_timed_compare)
        add_memory(out, operation.address, 4, false);
      return add(resource_of_object(operation.address), true);
    case HEDDLE_SYNC_guard_release:
      add_memory(out, operation.address, 1, true);
      return add(resource_of_object(operation.address), true);
    case HEDDLE_SYNC_key_create:
      add_memory(out, operation.address, 4, true);
      return add(resource_of_object(kTableOfKeys), true);
    case HEDDLE_SYNC_key_delete:
      return add(resource_of_object(kTableOfKeys), true);
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
      add(resource_of_object(operation.address), true);
      return add(resource_of_object(operation.second), true);
    case HEDDLE_SYNC_yield:
    case HEDDLE_SYNC_sleep:
    case HEDDLE_SYNC_attribute:
    case HEDDLE_SYNC_thread_detach:
    case HEDDLE_SYNC_thread_testcancel:
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_key_get:
    case HEDDLE_SYNC_key_set:
      return;
    default:
      if (operation.size == HEDDLE_PART_robust) add(resource_of_object(kAllLives), false);
      return add(resource_of_object(operation.address), true);
  }
}

bool conflict(const std::vector<Use>& left, const std::vector<Use>& right) {
  if (left.size() > right.size()) return conflict(right, left);
  auto from = right.begin();
  for (const Use& use : left) {
    from = std::lower_bound(from, right.end(), Use{use.resource, false});
    // Reads come first.
    for (auto other = from; other != right.end() && other->resource == use.resource; ++other)
      if (use.writes || other->writes) return true;
  }
  return false;
}

}  // namespace heddle
