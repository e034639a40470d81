#include "driver/core_baseline.h"

#include <gmock/gmock.h>

#include "abi/sync_kind.h"
#include "driver/core_repeated.h"

namespace heddle {
namespace {

using testing::ElementsAre;

constexpr uint64_t kFlag = 0x1000, kOther = 0x2000;

heddle_event event_of(uint32_t thread, uint32_t kind, uint64_t address) {
  heddle_event event{};
  event.thread = static_cast<decltype(event.thread)>(thread);
  event.kind = static_cast<decltype(event.kind)>(kind);
  event.address = address;
  event.size = 4;
  return event;
}

// The main thread creates two others; the first one reads and writes a flag behind something of its own, then
// the second one.
struct TwoThreads {
  std::vector<heddle_event> events = {
      event_of(0, HEDDLE_EVENT_sync + uint32_t{HEDDLE_SYNC_thread_create}, 0),
      event_of(0, HEDDLE_EVENT_sync + uint32_t{HEDDLE_SYNC_thread_create}, 0),
      event_of(1, HEDDLE_EVENT_write, kOther),
      event_of(1, HEDDLE_EVENT_read, kFlag),
      event_of(1, HEDDLE_EVENT_write, kFlag),
      event_of(2, HEDDLE_EVENT_read, kFlag),
      event_of(2, HEDDLE_EVENT_write, kFlag),
  };
  std::vector<heddle_thread_entry> threads = std::vector<heddle_thread_entry>(3);
  TwoThreads() { threads[2].child = 1; }
  RunConflicts conflicts() const { return {events, threads, {}}; }
};

std::vector<std::array<uint64_t, 3>> tries_of(const RunConflicts& run, uint64_t most) {
  std::vector<std::array<uint64_t, 3>> out;
  for (const BaselineTry& of : first_of_baseline(run, most)) out.push_back({of.event, of.next, of.number});
  return out;
}

TEST(CoreBaseline, LeavesOutWhatChangesNothing) {
  const TwoThreads run;
  // 1: the first thread before the second is created; 2 and 3: the second one first.
  EXPECT_THAT(tries_of(run.conflicts(), 4),
              ElementsAre(std::array<uint64_t, 3>{3, 2, 2}, std::array<uint64_t, 3>{4, 2, 4}));
}

TEST(CoreBaseline, CountsNoMoreThanTheBaselineMakes) {
  const TwoThreads run;
  EXPECT_THAT(tries_of(run.conflicts(), 1), ElementsAre());
}

TEST(CoreBaseline, WhatAThreadThatWasLeftWouldHaveDoneMatters) {
  const TwoThreads run;
  const std::vector<heddle_event> left = {event_of(2, HEDDLE_EVENT_write, kOther)};
  EXPECT_EQ(RunConflicts(run.events, run.threads, left).matters_at(2, 2), 2u);
  EXPECT_EQ(run.conflicts().matters_at(2, 2), 3u);
  EXPECT_EQ(run.conflicts().matters_at(2, 0), std::nullopt);
}

class Repeated : public testing::Test {
 protected:
  static CoreCandidate preempted(size_t event, uint64_t awaited = 0) {
    return {.event = event, .thread = 1, .next = 2, .weight = 1, .awaited = awaited, .awaited_of = 2};
  }
  // The second thread comes in between before this event.
  std::vector<heddle_event> with_second_before(size_t event) const {
    const auto at = run_.events.begin() + static_cast<ptrdiff_t>(event), second = run_.events.begin() + 5;
    std::vector<heddle_event> out(run_.events.begin(), at);
    out.insert(out.end(), second, run_.events.end());
    out.insert(out.end(), at, second);
    return out;
  }
  TwoThreads run_;
  RepeatedTries tries_{run_.events};
};

TEST_F(Repeated, BeforeWhatDoesNotConflict) {
  tries_.add(preempted(3), with_second_before(3));
  EXPECT_NE(tries_.find(preempted(2)), nullptr);
  EXPECT_NE(tries_.find(preempted(3, kFlag)), nullptr);
}

TEST_F(Repeated, NotBehindWhatConflicts) {
  tries_.add(preempted(2), with_second_before(2));
  EXPECT_NE(tries_.find(preempted(3)), nullptr);
  EXPECT_EQ(tries_.find(preempted(4)), nullptr);
}

TEST_F(Repeated, NotWhereTheThreadIsAwaitedLonger) {
  tries_.add(preempted(3), with_second_before(3));
  EXPECT_EQ(tries_.find(preempted(3, kOther)), nullptr);
}

}  // namespace
}  // namespace heddle
