#include "symex/unseen_blocks.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

Event allocates(uint64_t at, uint32_t size = 16) {
  return {.kind = EventKind::allocate, .size = size, .address = at};
}

Event releases(uint64_t at) {
  return {.kind = EventKind::release, .size = 16, .address = at};
}

Trace trace_of(std::vector<std::vector<Event>> threads, DoubleFrees double_frees = DoubleFrees::none) {
  Trace trace;
  for (std::vector<Event>& events : threads) {
    trace.threads.emplace_back();
    trace.threads.back().events = std::move(events);
  }
  forget_unseen_blocks(trace, double_frees);
  return trace;
}

size_t blocks_left(const Trace& trace) {
  size_t count = 0;
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events) count += is_block(event.kind);
  return count;
}

TEST(UnseenBlocks, WhatFitsTogetherStays) {
  const Trace trace =
      trace_of({{allocates(100), releases(100), allocates(100)}, {releases(100), allocates(200)}});
  EXPECT_EQ(blocks_left(trace), 5u);
  EXPECT_TRUE(trace.approximations.empty());
}

TEST(UnseenBlocks, DoubleFreesStay) {
  EXPECT_EQ(blocks_left(trace_of({{allocates(100), releases(100)}, {releases(100)}}, DoubleFrees::one)), 3u);
}

TEST(UnseenBlocks, AllocatedByALibraryBetweenTwoReleases) {
  EXPECT_EQ(blocks_left(trace_of({{allocates(100), releases(100)}, {releases(100)}})), 0u);
  EXPECT_EQ(blocks_left(trace_of({{releases(100)}, {allocates(200)}})), 2u) << "made before, or by a library";
}

TEST(UnseenBlocks, AllocatedTwiceAndNeverReleased) {
  const Trace trace = trace_of({{allocates(100)}, {allocates(100), allocates(200)}});
  EXPECT_EQ(blocks_left(trace), 1u) << "the other one is as it was";
  EXPECT_EQ(trace.threads[1].events[1].kind, EventKind::allocate);
  EXPECT_EQ(trace.approximations.size(), 2u);
}

TEST(UnseenBlocks, AllocatedAgainBeforeItsOnlyRelease) {
  EXPECT_EQ(blocks_left(trace_of({{allocates(100), allocates(100), releases(100)}})), 0u);
  EXPECT_EQ(blocks_left(trace_of({{allocates(100), allocates(100)}, {releases(100)}})), 3u);
}

TEST(UnseenBlocks, OverlappingOnesAtOtherAddresses) {
  EXPECT_EQ(blocks_left(trace_of({{allocates(100)}, {allocates(108)}})), 0u);
  EXPECT_EQ(blocks_left(trace_of({{allocates(100), releases(100)}, {allocates(108)}})), 3u);
  EXPECT_EQ(blocks_left(trace_of({{allocates(100)}, {allocates(116)}})), 2u) << "side by side";
}

TEST(UnseenBlocks, ReleasedAgainAndAgain) {
  EXPECT_EQ(blocks_left(trace_of({{releases(100), releases(100)}})), 0u);
}

TEST(ReusedFlags, OneThatWasDoneTwiceOrdersNothing) {
  const auto once = [](EventKind kind, uint64_t at) { return Event{.kind = kind, .address = at}; };
  Trace trace;
  trace.threads.resize(2);
  trace.threads[0].events = {once(EventKind::once_begin, 8), once(EventKind::once_done, 8),
                             once(EventKind::once_begin, 16), once(EventKind::once_done, 16)};
  trace.threads[1].events = {once(EventKind::once_begin, 8), once(EventKind::once_done, 8),
                             once(EventKind::once_passed, 16)};
  forget_reused_flags(trace);
  EXPECT_EQ(trace.threads[0].events[0].kind, EventKind::sync);
  EXPECT_EQ(trace.threads[1].events[1].kind, EventKind::sync);
  EXPECT_EQ(trace.threads[0].events[2].kind, EventKind::once_begin);
  EXPECT_EQ(trace.threads[1].events[2].kind, EventKind::once_passed);
  EXPECT_EQ(trace.approximations.size(), 2u) << "one for each thread: its events are at one place";
}

}  // namespace
}  // namespace heddle
