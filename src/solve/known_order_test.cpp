#include "solve/known_order.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

Trace threads_with(std::vector<uint32_t> events) {
  Trace trace;
  for (const uint32_t count : events) trace.threads.emplace_back().events.resize(count);
  return trace;
}

TEST(KnownOrder, FactsAreFollowedThroughOtherThreads) {
  const Trace trace = threads_with({3, 3, 3});
  const Problem problem{.trace = &trace,
                        .facts = {{.before = {0, 1}, .after = {1, 1}}, {.before = {1, 2}, .after = {2, 0}}}};
  const KnownOrder known(problem, OrderNeeds(problem));
  EXPECT_TRUE(known.is_before({0, 0}, {0, 1}));
  EXPECT_TRUE(known.is_before({0, 1}, {1, 1}));
  EXPECT_TRUE(known.is_before({0, 0}, {2, 2}));
  EXPECT_FALSE(known.is_before({0, 2}, {2, 2}));
  EXPECT_FALSE(known.is_before({0, 1}, {1, 0}));
  EXPECT_FALSE(known.is_before({2, 0}, {0, 0}));
}

// Against the closure of all pairs.
TEST(KnownOrder, IsTheTransitiveClosure) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const Trace trace = threads_with({4, 5, 3});
    constexpr uint32_t kEvents = 12;
    const uint32_t begins[] = {0, 4, 9, kEvents};
    // Facts that agree with one order of everything.
    std::vector<EventRef> order;
    std::vector<uint32_t> next(3);
    while (order.size() < kEvents)
      if (const auto t = static_cast<uint32_t>(random() % 3); next[t] < begins[t + 1] - begins[t])
        order.push_back({t, next[t]++});
    Problem problem{.trace = &trace};
    bool before[kEvents][kEvents] = {};
    const auto at = [&](EventRef ref) { return begins[ref.thread] + ref.event; };
    for (uint32_t t = 0; t < 3; ++t)
      for (uint32_t e = begins[t]; e + 1 < begins[t + 1]; ++e) before[e][e + 1] = true;
    for (uint64_t count = random() % 8; count != 0; --count) {
      const size_t a = random() % kEvents, b = random() % kEvents;
      if (a >= b || order[a].thread == order[b].thread) continue;
      problem.facts.push_back({.before = order[a], .after = order[b]});
      before[at(order[a])][at(order[b])] = true;
    }
    for (uint32_t k = 0; k < kEvents; ++k)
      for (uint32_t i = 0; i < kEvents; ++i)
        for (uint32_t j = 0; j < kEvents; ++j) before[i][j] |= before[i][k] && before[k][j];
    const KnownOrder known(problem, OrderNeeds(problem));
    for (const EventRef a : order)
      for (const EventRef b : order) EXPECT_EQ(known.is_before(a, b), before[at(a)][at(b)]) << seed;
  }
}

}  // namespace
}  // namespace heddle
