#include "program/minimum_cut.h"

#include <algorithm>

namespace heddle {

MinimumCut::Vertex MinimumCut::add(int64_t price) {
  const auto vertex = static_cast<Vertex>(leaving_.size() / 2 - 1);
  leaving_.resize(leaving_.size() + 2);
  add_edge(entry(vertex), exit(vertex), price);
  return vertex;
}

void MinimumCut::add_edge(Node from, Node to, int64_t room) {
  leaving_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, room});
  leaving_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

std::vector<bool> MinimumCut::solve() {
  while (find_levels()) {
    next_.assign(leaving_.size(), 0);
    while (push_one_way()) {
    }
  }
  // Full are the vertices that can be entered but not left.
  std::vector<bool> cut(leaving_.size() / 2 - 1);
  for (Vertex vertex = 0; vertex < cut.size(); ++vertex)
    cut[vertex] = levels_[entry(vertex)] >= 0 && levels_[exit(vertex)] < 0;
  return cut;
}

// False when the sink cannot be reached any more.
bool MinimumCut::find_levels() {
  levels_.assign(leaving_.size(), -1);
  levels_[kSource] = 0;
  std::vector<Node> queue = {kSource};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const uint32_t number : leaving_[queue[i]]) {
      const Edge& edge = edges_[number];
      if (edge.room == 0 || levels_[edge.to] >= 0) continue;
      levels_[edge.to] = levels_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return levels_[kSink] >= 0;
}

// Along edges that lead one level further. False when there is no such way to the sink.
bool MinimumCut::push_one_way() {
  std::vector<uint32_t> way;
  Node at = kSource;
  while (at != kSink) {
    if (next_[at] == leaving_[at].size()) {
      if (way.empty()) return false;
      at = edges_[way.back() ^ 1].to;
      way.pop_back();
      ++next_[at];
      continue;
    }
    const uint32_t number = leaving_[at][next_[at]];
    const Edge& edge = edges_[number];
    if (edge.room == 0 || levels_[edge.to] != levels_[at] + 1) {
      ++next_[at];
      continue;
    }
    way.push_back(number);
    at = edge.to;
  }
  int64_t amount = kNoPrice;
  for (const uint32_t number : way) amount = std::min(amount, edges_[number].room);
  for (const uint32_t number : way) {
    edges_[number].room -= amount;
    edges_[number ^ 1].room += amount;
  }
  return true;
}

}  // namespace heddle
