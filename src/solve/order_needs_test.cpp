#include "solve/order_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two threads of three writes each; windows of time as they are given.
Trace two_threads(const std::vector<std::pair<uint64_t, uint64_t>>& first = {},
                  const std::vector<std::pair<uint64_t, uint64_t>>& second = {}) {
  TraceBuilder builder(2);
  for (uint32_t t = 0; t < 2; ++t)
    for (uint64_t i = 0; i < 3; ++i) {
      const uint32_t event = builder.write(t, 0x1000, i);
      const auto& windows = t == 0 ? first : second;
      if (i >= windows.size()) continue;
      builder.trace.threads[t].events[event].tsc_low = windows[i].first;
      builder.trace.threads[t].events[event].tsc_high = windows[i].second;
    }
  return builder.trace;
}

TEST(OrderNeeds, NoFactsNeedNothing) {
  const Trace trace = two_threads({{1, 2}}, {{3, 4}});
  const OrderNeeds needs({.trace = &trace});
  for (uint32_t t = 0; t < 2; ++t)
    for (uint32_t e = 0; e < 3; ++e) EXPECT_THAT(needs.of({t, e}), IsEmpty());
}

TEST(OrderNeeds, AFactIsAPositionOfTheOther) {
  const Trace trace = two_threads();
  const OrderNeeds needs({.trace = &trace,
                          .facts = {{.before = {0, 1}, .after = {1, 0}},
                                    {.before = {0, 0}, .after = {1, 1}},  // known from the one above
                                    {.before = {0, 2}, .after = {1, 2}},
                                    {.before = {1, 2}, .after = {0, 2}}}});
  EXPECT_THAT(needs.of({1, 0}), ElementsAre(OrderNeed{0, 2}));
  EXPECT_THAT(needs.of({1, 1}), IsEmpty());
  EXPECT_THAT(needs.of({1, 2}), ElementsAre(OrderNeed{0, 3}));
  EXPECT_THAT(needs.of({0, 0}), IsEmpty());
  EXPECT_THAT(needs.of({0, 2}), ElementsAre(OrderNeed{1, 3}));
}

TEST(OrderNeeds, ClocksPutWhatEndedBeforeWhatBegins) {
  const Trace trace = two_threads({{1, 5}, {0, 0}, {5, 9}}, {{5, 6}, {8, 0}, {9, 12}});
  const OrderNeeds needs({.trace = &trace, .clocks = true});
  EXPECT_THAT(needs.of({1, 0}), ElementsAre(OrderNeed{0, 1}));
  EXPECT_THAT(needs.of({1, 1}), IsEmpty());
  EXPECT_THAT(needs.of({1, 2}), ElementsAre(OrderNeed{0, 3}));
  for (uint32_t e = 0; e < 3; ++e) EXPECT_THAT(needs.of({0, e}), IsEmpty());
}

TEST(OrderNeeds, ClocksMayBeWrongByTheSlack) {
  const Trace trace = two_threads({{1, 5}, {0, 0}, {5, 9}}, {{5, 6}, {8, 0}, {12, 15}});
  const OrderNeeds needs({.trace = &trace, .clocks = true, .clock_slack = 3});
  EXPECT_THAT(needs.of({1, 0}), IsEmpty());
  EXPECT_THAT(needs.of({1, 1}), ElementsAre(OrderNeed{0, 1}));
  EXPECT_THAT(needs.of({1, 2}), ElementsAre(OrderNeed{0, 3}));
}

TEST(OrderNeeds, OrdersAreJudgedByThem) {
  const Trace trace = two_threads();
  const Problem problem{.trace = &trace, .facts = {{.before = {0, 1}, .after = {1, 1}}}};
  const auto holds = [&](const std::vector<OrderItem>& order) { return respects_facts(problem, order); };
  EXPECT_TRUE(holds({}));
  EXPECT_TRUE(holds({{1, 0}, {0, 0}, {0, 1}, {1, 1}}));
  EXPECT_TRUE(holds({{1, 0}, {0, 0}, {0, 0, true}}));  // the later event is left out
  EXPECT_FALSE(holds({{1, 0}, {1, 1}}));
  EXPECT_FALSE(holds({{1, 0}, {0, 0}, {1, 1}, {0, 1}}));
}

}  // namespace
}  // namespace heddle
