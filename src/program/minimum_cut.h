// The cheapest set of vertices that every way from a source to a sink goes through (minimum vertex cut), by
// Dinic's maximum flow: each vertex is an edge with its price as capacity, all else has room without end.
//
// Of all cheapest sets the one nearest to the sources is given; it is the same in whatever order edges were
// added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

class MinimumCut {
 public:
  using Vertex = uint32_t;
  // More than all prices together. There must be a vertex with a price on every way.
  static constexpr int64_t kNoPrice = int64_t{1} << 60;

  MinimumCut() : leaving_(2) {}

  Vertex add(int64_t price);
  void connect(Vertex from, Vertex to) { add_edge(exit(from), entry(to), kNoPrice); }
  void mark_source(Vertex vertex) { add_edge(kSource, entry(vertex), kNoPrice); }
  void mark_sink(Vertex vertex) { add_edge(exit(vertex), kSink, kNoPrice); }

  // For each vertex whether it is in the set.
  std::vector<bool> solve();

 private:
  using Node = uint32_t;  // the source, the sink, and two for each vertex
  static constexpr Node kSource = 0, kSink = 1;
  static Node entry(Vertex vertex) { return 2 + 2 * vertex; }
  static Node exit(Vertex vertex) { return entry(vertex) + 1; }
  struct Edge {  // the one back is its neighbour: the numbers differ in the lowest bit
    Node to;
    int64_t room;
  };

  void add_edge(Node from, Node to, int64_t room);
  bool find_levels();
  bool push_one_way();

  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> leaving_;  // edges of each node
  std::vector<int32_t> levels_;                 // distance from the source; -1: there is no way
  std::vector<size_t> next_;                    // edges of each node that were not given up
};

}  // namespace heddle
