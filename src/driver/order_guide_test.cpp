#include "driver/order_guide.h"

#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

Trace two_threads() {
  TraceBuilder builder(2);
  builder.trace.threads[0].places = {{}, {.instruction = 5}, {.instruction = 6}};
  builder.trace.threads[1].name = "0.1";
  builder.trace.threads[1].places = {{}, {.instruction = 8}};
  const auto add = [&](uint32_t thread, EventKind kind, uint32_t place, uint64_t occurrence) {
    builder.add(thread, Event{.kind = kind, .size = 4, .place = place, .occurrence = occurrence});
  };
  add(0, EventKind::create, 1, 1);
  add(0, EventKind::write, 2, 1);
  add(0, EventKind::allocate, 2, 0);
  add(1, EventKind::start, 0, 0);
  add(1, EventKind::wait_timeout, 1, 2);
  add(1, EventKind::read, 1, 3);
  return std::move(builder.trace);
}

TEST(OrderGuide, OneStepForEachStretchOfAThread) {
  const Trace trace = two_threads();
  const std::vector<OrderItem> order = {{0, 0}, {1, 0}, {0, 1}, {0, 2}, {0, 1, true}, {1, 1}, {1, 2}};
  const Result<OrderGuide> made = guide_of(trace, order);
  ASSERT_TRUE(made);
  const Guide& guide = made->guide;
  ASSERT_EQ(guide.threads.size(), 2u);
  EXPECT_EQ(guide.threads[1].text(), "0:0") << "recordings count children from 1";
  using Kind = GuideStep::Kind;
  const std::vector<GuideStep> expected = {
      {Kind::run, 0, HEDDLE_TARGET_sync, 5, 1},    {Kind::run, 1, HEDDLE_TARGET_begin, HEDDLE_NO_SITE, 1},
      {Kind::run, 0, HEDDLE_TARGET_write, 6, 1},   {Kind::flush, 0, HEDDLE_TARGET_write, 6, 1},
      {Kind::run, 1, HEDDLE_TARGET_timeout, 8, 2}, {Kind::run, 1, HEDDLE_TARGET_read, 8, 3}};
  EXPECT_EQ(guide.steps, expected);
  EXPECT_EQ(made->items, (std::vector<size_t>{0, 1, 2, 4, 5, 6})) << "item 3 has no event under control";
}

TEST(OrderGuide, AWaitThatEndsByItsTimeIsOverAtOnce) {
  TraceBuilder builder(2);
  builder.trace.threads[0].places = {{}, {.instruction = 5}};
  builder.trace.threads[1].name = "0.1";
  builder.trace.threads[1].places = {{}, {.instruction = 8}};
  builder.add(0, Event{.kind = EventKind::signal, .place = 1, .occurrence = 1});
  builder.add(1, Event{.kind = EventKind::wait_begin, .place = 1, .occurrence = 1});
  builder.add(1, Event{.kind = EventKind::wait_timeout, .place = 1, .occurrence = 2});
  const Result<OrderGuide> made = guide_of(builder.trace, std::vector<OrderItem>{{1, 0}, {0, 0}, {1, 1}});
  ASSERT_TRUE(made);
  const Guide& guide = made->guide;
  using Kind = GuideStep::Kind;
  const std::vector<GuideStep> expected = {{Kind::run, 1, HEDDLE_TARGET_sync, 8, 1},
                                           {.kind = Kind::timeout, .thread = 1},
                                           {Kind::run, 0, HEDDLE_TARGET_sync, 5, 1},
                                           {Kind::run, 1, HEDDLE_TARGET_timeout, 8, 2}};
  EXPECT_EQ(guide.steps, expected);
}

TEST(OrderGuide, AThreadWithoutItsCreator) {
  Trace trace = two_threads();
  trace.threads[1].name = "0.4.1";
  EXPECT_FALSE(guide_of(trace, {}));
}

}  // namespace
}  // namespace heddle
