#include "explore/behaviour.h"

#include <algorithm>

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

const Behaviour::Edge* Behaviour::edge(NodeId from, uint64_t input) const {
  for (const Edge& edge : nodes_[from].edges)
    if (edge.input == input) return &edge;
  return nullptr;
}

bool Behaviour::add_operation(NodeId at, const Operation& operation) {
  Node& node = nodes_[at];
  if (node.state != State::unknown) return node.state == State::goes_on && node.operation == operation;
  node.state = State::goes_on;
  node.operation = operation;
  note_uses(at, true);
  return true;
}

bool Behaviour::add_state(NodeId at, State state) {
  Node& node = nodes_[at];
  if (node.state == State::unknown) {
    node.state = state;
    changes_ += state == State::failed || state == State::exits;
  }
  return node.state == state;
}

NodeId Behaviour::add_edge(NodeId from, Edge added) {
  if (const Edge* known = edge(from, added.input)) {
    const bool same =
        known->output == added.output && known->read == added.read && known->written == added.written;
    return same ? known->to : kUnknownNode;
  }
  added.to = new_node(nodes_[from].thread, from);
  const bool is_large = !added.read.empty() || !added.written.empty();
  nodes_[from].edges.push_back(std::move(added));
  count_rounds(nodes_[from].edges.back().to);
  if (is_large) note_uses(from, false);
  return nodes_[from].edges.back().to;
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
  if (one.input != other.input || one.output != other.output) return false;
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_fence:
      return true;
    case HEDDLE_EVENT_update:
      return one.input == one.output;
    case HEDDLE_EVENT_write:
      return false;
    default:
      return operation.sync() == HEDDLE_SYNC_yield || one.input != 0;  // a try that failed
  }
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

std::optional<uint64_t> Behaviour::awaits_change_of(NodeId at) const {
  const Node& node = nodes_[at];
  if (node.rounds < kRoundsOfWaiting) return std::nullopt;
  NodeId first = at;  // the first step of the last round
  for (uint32_t i = 1; i < node.round; ++i) first = nodes_[first].parent;
  return edge_to(first).input;
}

bool Behaviour::is_private(uint64_t address) const {
  const auto found = words_.find(resource_of_word(address));
  return found != words_.end() && found->second.thread != kShared;
}

void Behaviour::uses(const Node& node, std::vector<Use>& out) const {
  all_uses(node, out);
  std::erase_if(out, [&](const Use& use) {
    const auto found = words_.find(use.resource);
    return found != words_.end() && found->second.thread != kShared;
  });
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
    note_use(thread, use.resource * 8, 1);  // pending operations are not noted before
    Words& word = words_.at(use.resource);
    if (word.thread == thread)
      word.uses.emplace_back(at, use.writes);
    else
      add_future(at, {use}, is_new);
  }
}

void Behaviour::note_use(uint32_t thread, uint64_t address, uint64_t size) {
  for (uint64_t resource = resource_of_word(address); resource <= resource_of_word(address + size - 1);
       ++resource) {
    Words& word = words_.try_emplace(resource, Words{.thread = thread}).first->second;
    if (word.thread == thread || word.thread == kShared) continue;
    word.thread = kShared;
    ++shared_;
    ++changes_;
    for (const auto& [node, writes] : word.uses) add_future(node, {{resource, writes}}, false);
    word.uses.clear();
  }
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
      grown = true;
    }
    if (!grown) return;
    if (at != from || !is_new) ++changes_;
  }
}

void Behaviour::all_uses(const Node& node, std::vector<Use>& out) {
  const Operation& operation = node.operation;
  const auto add = [&](uint64_t resource, bool writes) { out.push_back({resource, writes}); };
  switch (operation.kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_write:
    case HEDDLE_EVENT_update:
      for (uint64_t word = resource_of_word(operation.address);
           word <= resource_of_word(operation.address + operation.size - 1); ++word)
        add(word, operation.kind != HEDDLE_EVENT_read);
      return;
    case HEDDLE_EVENT_fence:
      return;
    default:
      break;
  }
  if (operation.kind == HEDDLE_EVENT_call) {
    if (operation.order == HEDDLE_CALL_frees)
      for (uint64_t word = resource_of_word(operation.address);
           word <= resource_of_word(operation.address + operation.size - 1); ++word)
        add(word, true);
    for (const Edge& edge : node.edges) {
      for (const Piece& piece : edge.read) add(resource_of_word(piece.address), false);
      for (const Piece& piece : edge.written) add(resource_of_word(piece.address), true);
    }
    return;
  }
  switch (operation.sync()) {
    case HEDDLE_SYNC_thread_create:
    case HEDDLE_SYNC_thread_join:
      return add(resource_of_thread(static_cast<uint32_t>(operation.second)), true);
    case HEDDLE_SYNC_thread_begin:
    case HEDDLE_SYNC_thread_end:
      return add(resource_of_thread(node.thread), true);
    case HEDDLE_SYNC_process_exit:  // exit handlers begin; nobody else can tell
      return;
    case HEDDLE_SYNC_cond_wait:
      add(resource_of_object(operation.address), true);
      return add(resource_of_object(operation.second), true);
    case HEDDLE_SYNC_yield:
    case HEDDLE_SYNC_thread_detach:
    case HEDDLE_SYNC_thread_testcancel:
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_key_get:
    case HEDDLE_SYNC_key_set:
      return;
    default:
      return add(resource_of_object(operation.address), true);
  }
}

bool conflict(const std::vector<Use>& left, const std::vector<Use>& right) {
  for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end();) {
    if (l->resource == r->resource) {
      // Sorted by resource, reads first: the last of each says whether there is a write.
      const uint64_t resource = l->resource;
      bool writes = false;
      for (; l != left.end() && l->resource == resource; ++l) writes |= l->writes;
      for (; r != right.end() && r->resource == resource; ++r) writes |= r->writes;
      if (writes) return true;
    } else if (l->resource < r->resource) {
      ++l;
    } else {
      ++r;
    }
  }
  return false;
}

}  // namespace heddle
