#include "report/conflicts.h"

#include <gtest/gtest.h>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

constexpr uint64_t kX = 0x1000, kLock = 0x2000;

heddle_event access(uint16_t thread, uint8_t kind, uint64_t address = kX) {
  return {
      .site = 0, .thread = thread, .kind = kind, .order = HEDDLE_ORDER_plain, .address = address, .size = 4};
}

heddle_event sync(uint16_t thread, unsigned kind, uint64_t object) {
  return {
      .site = 0, .thread = thread, .kind = static_cast<uint8_t>(HEDDLE_EVENT_sync + kind), .address = object};
}

// A run with these events in this order.
Execution run_of(const std::vector<heddle_event>& events, std::vector<heddle_event> pending = {}) {
  Execution run{.outcome = Outcome::failed, .failure = Failure{.kind = "assert"}};
  run.schedule.threads = {
      {.name = ThreadName()}, {.name = ThreadName().child(0)}, {.name = ThreadName().child(1)}};
  for (const heddle_event& event : events)
    run.schedule.steps.push_back(Step::run(ThreadIndex(event.thread), 1));
  run.kept_events = events;
  run.pending_events = std::move(pending);
  return run;
}

std::vector<std::pair<size_t, size_t>> pairs_of(const Execution& run) {
  const RunOrder order(run);
  const HeldLocks locks(order);
  std::vector<std::pair<size_t, size_t>> out;
  for (const ConflictPair& pair : conflict_pairs(order, locks, 100)) out.emplace_back(pair.first, pair.second);
  std::ranges::sort(out);
  return out;
}

using Pairs = std::vector<std::pair<size_t, size_t>>;

TEST(Conflicts, TwoIncrementsHaveThreePairs) {
  const Execution run = run_of({access(1, HEDDLE_EVENT_read), access(2, HEDDLE_EVENT_read),
                                access(2, HEDDLE_EVENT_write), access(1, HEDDLE_EVENT_write)});
  EXPECT_EQ(pairs_of(run), (Pairs{{0, 2}, {1, 3}, {2, 3}}));
}

TEST(Conflicts, ReadsOfOthersAndOtherMemoryAreNone) {
  EXPECT_EQ(pairs_of(run_of({access(1, HEDDLE_EVENT_read), access(2, HEDDLE_EVENT_read)})), Pairs{});
  EXPECT_EQ(pairs_of(run_of({access(1, HEDDLE_EVENT_write), access(2, HEDDLE_EVENT_write, kX + 4)})), Pairs{});
  EXPECT_EQ(pairs_of(run_of({access(1, HEDDLE_EVENT_write), access(1, HEDDLE_EVENT_write)})), Pairs{});
}

TEST(Conflicts, WhatAThreadDidNotComeToCounts) {
  const Execution run = run_of({access(1, HEDDLE_EVENT_read)}, {access(2, HEDDLE_EVENT_write)});
  EXPECT_EQ(pairs_of(run), (Pairs{{0, 1}}));
}

TEST(Conflicts, AFlipBeginsBeforeTheCriticalSectionThatTheOtherNeeds) {
  const Execution run =
      run_of({sync(1, HEDDLE_SYNC_mutex_lock, kLock), access(1, HEDDLE_EVENT_write),
              sync(1, HEDDLE_SYNC_mutex_unlock, kLock), sync(2, HEDDLE_SYNC_mutex_lock, kLock),
              access(2, HEDDLE_EVENT_write), sync(2, HEDDLE_SYNC_mutex_unlock, kLock)});
  const RunOrder order(run);
  const HeldLocks locks(order);
  const std::vector<ConflictPair> pairs = conflict_pairs(order, locks, 100);
  ASSERT_EQ(pairs.size(), 2u);  // the accesses, then the sections
  EXPECT_EQ(pairs[0].rank, ConflictPair::Rank::data);
  EXPECT_EQ(pairs[0].first, 1u);
  EXPECT_EQ(pairs[0].from, 0u);
  EXPECT_EQ(pairs[1].rank, ConflictPair::Rank::section);
}

TEST(HeldLocks, SpansEndWithTheirUnlock) {
  const Execution run = run_of({sync(1, HEDDLE_SYNC_mutex_lock, kLock), access(1, HEDDLE_EVENT_write),
                                sync(1, HEDDLE_SYNC_mutex_unlock, kLock), access(1, HEDDLE_EVENT_write)});
  const RunOrder order(run);
  const HeldLocks locks(order);
  ASSERT_EQ(locks.spans().size(), 1u);
  EXPECT_EQ(locks.spans()[0].released, 2u);
  EXPECT_EQ(locks.at(1).size(), 1u);
  EXPECT_TRUE(locks.at(3).empty());
}

TEST(RunOrder, SchedulesFollowTheMoments) {
  const Execution run =
      run_of({access(1, HEDDLE_EVENT_read), access(1, HEDDLE_EVENT_read), access(2, HEDDLE_EVENT_write)});
  const RunOrder order(run);
  const Schedule schedule = schedule_of(order.moments(), run.schedule);
  ASSERT_EQ(schedule.steps.size(), 2u);
  EXPECT_EQ(schedule.steps[0].count, 2u);
  EXPECT_TRUE(schedule.header.prefix);
}

}  // namespace
}  // namespace heddle
