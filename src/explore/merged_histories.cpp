#include "explore/merged_histories.h"

#include <functional>
#include <set>
#include <utility>

#include "explore/library_spin.h"

namespace heddle {
namespace {

void add(Hasher128& hasher, const Hash128& hash) {
  hasher.add(hash.low);
  hasher.add(hash.high);
}

void add(Hasher128& hasher, const Operation& operation) {
  hasher.add(uint64_t{operation.site} << 32 | operation.drained << 16 | operation.order << 8 | operation.kind);
  hasher.add(operation.address);
  hasher.add(operation.size);
  hasher.add(operation.second);
}

// Of private memory neither place nor contents come in or go out.
void add(Hasher128& hasher, const std::vector<Piece>& pieces, const Behaviour& behaviour) {
  for (const Piece& piece : pieces) {
    if (behaviour.is_private(piece.address)) continue;
    hasher.add(piece.address);
    hasher.add(piece.size);
    hasher.add(piece.value);
  }
  hasher.add(UINT64_MAX);
}

}  // namespace

uint32_t MergedHistories::group_of(NodeId at) {
  const Behaviour::Node& node = behaviour_.node(at);
  const Operation& operation = node.operation;
  Hasher128 hasher;
  hasher.add(std::hash<ThreadName>()(behaviour_.name(node.thread)));
  hasher.add(static_cast<uint64_t>(node.state) << 8 | behaviour_.was_cancelled(at));
  if (node.state == Behaviour::State::unknown || machine_.is_opaque(operation)) add(hasher, node.history);
  add(hasher, operation);
  if (node.round != 0) {  // whether it waits in a loop depends on the way to it
    hasher.add(uint64_t{node.rounds} << 2 | static_cast<uint64_t>(node.waiting));
    for (const auto& [step, input] : behaviour_.steps_of_round(at)) {
      add(hasher, step);
      hasher.add(input);
    }
  }
  if (const std::optional<uint64_t> value = library_spin(behaviour_, at))
    hasher.add(hash_of({*value}).low);  // too
  const bool is_own = !operation.is_sync() && behaviour_.is_private(operation.address);
  Hash128 edges;  // a sum: in whichever order they were seen
  for (const Behaviour::Edge& edge : node.edges) {
    Hasher128 one;
    const bool is_in_pieces = operation.is_large() && !operation.is_channel();
    one.add(is_in_pieces || machine_.is_private(operation) ? 0 : edge.input);
    one.add(is_own ? 0 : edge.output);
    one.add(edge.cancelled);
    add(one, edge.read, behaviour_);
    add(one, edge.written, behaviour_);
    add(one,
        edge.to > at ? groups_[group_[edge.to]].name : behaviour_.node(edge.to).history);  // it may lead back
    edges.low += one.hash().low;
    edges.high += one.hash().high;
  }
  add(hasher, edges);
  const auto [found, fresh] = numbers_.try_emplace(hasher.hash(), static_cast<uint32_t>(groups_.size()));
  if (fresh) groups_.push_back({.name = found->first});
  return found->second;
}

void MergedHistories::find() {
  groups_.clear();
  numbers_.clear();
  group_.assign(behaviour_.size(), 0);
  for (NodeId at = static_cast<NodeId>(group_.size()); at-- > 0;)  // what lies behind a node came later
    group_[at] = group_of(at);
}

void MergedHistories::learn(const std::vector<NodeId>& nodes) {
  const size_t before = group_.size();
  group_.resize(behaviour_.size());
  std::set<NodeId, std::greater<>> changed;
  for (NodeId at = static_cast<NodeId>(before); at < group_.size(); ++at) changed.insert(at);
  for (const NodeId node : nodes)
    for (NodeId at = node; at != kUnknownNode; at = behaviour_.node(at).parent)
      if (!changed.insert(at).second) break;
  for (const NodeId at : changed) {
    const uint32_t old = std::exchange(group_[at], group_of(at));
    if (at < before && old != group_[at]) groups_[old].is_outdated = true;
  }
}

}  // namespace heddle
