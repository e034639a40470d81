// Minimum cuts of random graphs against all sets of vertices there are.
#include "program/minimum_cut.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace heddle {
namespace {

constexpr uint32_t kVertices = 7;

struct RandomGraph {
  explicit RandomGraph(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (uint32_t v = 0; v < kVertices; ++v) {
      prices[v] = static_cast<int64_t>(1 + random() % 4);
      for (uint32_t w = 0; w < kVertices; ++w) edge[v][w] = random() % 4 == 0;
      source[v] = random() % 4 == 0;
      sink[v] = random() % 4 == 0;
    }
  }

  int64_t price(uint32_t set) const {
    int64_t sum = 0;
    for (uint32_t v = 0; v < kVertices; ++v) sum += (set >> v & 1) != 0 ? prices[v] : 0;
    return sum;
  }

  // The vertices outside of `set` that sources reach.
  uint32_t reached(uint32_t set) const {
    uint32_t seen = 0;
    for (uint32_t round = 0; round <= kVertices; ++round)
      for (uint32_t v = 0; v < kVertices; ++v) {
        bool here = source[v];
        for (uint32_t u = 0; u < kVertices; ++u) here |= (seen >> u & 1) != 0 && edge[u][v];
        if (here && (set >> v & 1) == 0) seen |= 1u << v;
      }
    return seen;
  }
  bool separates(uint32_t set) const {
    const uint32_t seen = reached(set);
    for (uint32_t v = 0; v < kVertices; ++v)
      if (sink[v] && (seen >> v & 1) != 0) return false;
    return true;
  }

  int64_t prices[kVertices];
  bool edge[kVertices][kVertices], source[kVertices], sink[kVertices];
};

TEST(MinimumCut, CheapestAndNearestToTheSources) {
  size_t interesting = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomGraph graph(seed);
    MinimumCut cut;
    for (uint32_t v = 0; v < kVertices; ++v) cut.add(graph.prices[v]);
    for (uint32_t v = 0; v < kVertices; ++v) {
      if (graph.source[v]) cut.mark_source(v);
      if (graph.sink[v]) cut.mark_sink(v);
      for (uint32_t w = 0; w < kVertices; ++w)
        if (graph.edge[v][w]) cut.connect(v, w);
    }
    const std::vector<bool> chosen = cut.solve();
    uint32_t set = 0;
    for (uint32_t v = 0; v < kVertices; ++v) set |= chosen[v] ? 1u << v : 0u;

    ASSERT_TRUE(graph.separates(set)) << seed;
    interesting += set != 0;
    for (uint32_t other = 0; other < 1u << kVertices; ++other) {
      if (!graph.separates(other)) continue;
      ASSERT_LE(graph.price(set), graph.price(other)) << seed;
      // Nearest: what is reached in front of it is reached in front of every other cheapest set.
      if (graph.price(other) == graph.price(set))
        ASSERT_EQ(graph.reached(set) & ~graph.reached(other), 0u) << seed;
    }
  }
  EXPECT_GT(interesting, 100u);
}

}  // namespace
}  // namespace heddle
