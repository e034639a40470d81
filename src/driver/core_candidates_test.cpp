#include "driver/core_candidates.h"

#include <gmock/gmock.h>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

using testing::ElementsAre;

constexpr uint64_t kLock = 0x100, kCondition = 0x200, kFlag = 0x1000, kOther = 0x1004;

// Events of a run, and the threads that perform them: the main one and others with the given start functions.
struct GivenRun {
  std::vector<heddle_event> events;
  std::vector<heddle_thread_entry> threads = {{}};
  std::vector<CriticalVariable> critical;

  explicit GivenRun(const std::vector<uint64_t>& starts) {
    for (const uint64_t start : starts) {
      threads.push_back({});
      threads.back().start = start;
      threads.back().child = static_cast<uint32_t>(threads.size() - 2);
    }
  }
  size_t add(uint32_t thread, uint32_t kind, uint64_t address, uint32_t size = 0) {
    heddle_event event{};
    event.thread = thread;
    event.kind = static_cast<decltype(event.kind)>(kind);
    event.address = address;
    event.size = static_cast<decltype(event.size)>(size);
    events.push_back(event);
    return events.size() - 1;
  }
  size_t read(uint32_t thread, uint64_t address) { return add(thread, HEDDLE_EVENT_read, address, 4); }
  size_t write(uint32_t thread, uint64_t address) { return add(thread, HEDDLE_EVENT_write, address, 4); }
  size_t sync(uint32_t thread, uint32_t kind, uint64_t object) {
    return add(thread, HEDDLE_EVENT_sync + kind, object);
  }

  std::vector<CoreCandidate> candidates(const std::set<size_t>& deciding = {}) const {
    return core_candidates({.events = events,
                            .threads = threads,
                            .critical = critical,
                            .aligned = events.size(),
                            .deciding = &deciding});
  }
};

std::vector<std::pair<size_t, uint32_t>> places(const std::vector<CoreCandidate>& candidates) {
  std::vector<std::pair<size_t, uint32_t>> out;
  for (const CoreCandidate& candidate : candidates)
    if (candidate.awaited != 0) out.emplace_back(candidate.event, candidate.next);
  return out;
}

TEST(CoreCandidates, NeighboursInOneWordDoNotConflict) {
  GivenRun run({1});
  run.write(0, kFlag);
  const size_t at = run.write(0, kOther);
  run.read(1, kOther);
  EXPECT_THAT(places(run.candidates()), ElementsAre(std::pair(at, 1u)));
}

TEST(CoreCandidates, WhatAWiderAccessTouchesConflicts) {
  GivenRun run({1});
  const size_t first = run.write(0, kFlag), second = run.write(0, kOther);
  run.add(1, HEDDLE_EVENT_read, kFlag, 8);
  EXPECT_THAT(places(run.candidates()),
              testing::UnorderedElementsAre(std::pair(first, 1u), std::pair(second, 1u)));
}

TEST(CoreCandidates, WhoWaitsUnderTheSignallersLockIsPreemptedBeforeTheLock) {
  GivenRun run({1});
  const size_t lock = run.sync(0, HEDDLE_SYNC_mutex_lock, kLock);
  const size_t wait = run.sync(0, HEDDLE_SYNC_cond_wait, kCondition);
  run.events[wait].second = kLock;
  run.sync(1, HEDDLE_SYNC_mutex_lock, kLock);
  run.sync(1, HEDDLE_SYNC_cond_signal, kCondition);
  run.sync(1, HEDDLE_SYNC_mutex_unlock, kLock);
  EXPECT_THAT(places(run.candidates()), ElementsAre(std::pair(lock, 1u)));
}

TEST(CoreCandidates, TheTimeOfAWaitMayEndUnderTheSignallersLock) {
  GivenRun run({1});
  run.sync(0, HEDDLE_SYNC_mutex_lock, kLock);
  for (int i = 0; i < 2; ++i) {  // the wait begins, and ends behind the signal
    const size_t wait = run.sync(0, HEDDLE_SYNC_cond_timedwait, kCondition);
    run.events[wait].second = kLock;
    if (i == 1) break;
    run.sync(1, HEDDLE_SYNC_mutex_lock, kLock);
    run.sync(1, HEDDLE_SYNC_cond_signal, kCondition);
    run.sync(1, HEDDLE_SYNC_mutex_unlock, kLock);
  }
  EXPECT_THAT(places(run.candidates()), testing::Contains(std::pair(size_t{3}, 0u)))
      << "before the signal itself";
}

TEST(CoreCandidates, AReadThatDecidedComesFirst) {
  GivenRun run({1, 2});
  const size_t decided = run.write(1, kFlag);
  run.write(1, kOther + 16);
  run.read(2, kFlag);
  const size_t read = run.events.size() - 1;
  run.read(2, kOther + 16);
  EXPECT_EQ(run.candidates({read}).front().event, decided);
  EXPECT_NE(run.candidates().front().event, decided) << "otherwise the last one before the aligned point";
}

TEST(CoreCandidates, OthersMayGoOnAsTheyDidBeforeWhoReadsAndDecides) {
  GivenRun run({1, 2, 3});
  const size_t at = run.write(1, kFlag);
  run.read(2, kOther);
  const size_t read = run.read(3, kFlag);
  const std::vector<CoreCandidate> found = run.candidates({read});
  EXPECT_THAT(places(found), ElementsAre(std::pair(at, 2u), std::pair(at, 3u)));
  EXPECT_EQ(found[0].awaited_of, 3u);
  EXPECT_EQ(found[1].awaited_of, 3u);
}

TEST(CoreCandidates, AThreadOfTheSameKindStandsForAnotherOnlyIfItDoesTheSame) {
  const auto weight_of_last = [](uint64_t read_by_first) {
    GivenRun run({1, 2, 2});
    run.write(1, kFlag);
    run.read(2, read_by_first);
    run.read(3, kFlag);
    for (const CoreCandidate& candidate : run.candidates())
      if (candidate.next == 3 && candidate.awaited == kFlag) return candidate.weight;
    return uint64_t{0};
  };
  EXPECT_EQ(weight_of_last(kFlag), 2 * weight_of_last(kOther));
}

TEST(CoreCandidates, WhatAThreadHasForItselfIsNotDoneByAnotherOfItsKind) {
  const auto found = [](bool own) {
    GivenRun run({2, 2});
    run.critical.push_back(
        {.difference = {.path = "", .address = kFlag, .size = 4, .own = own}, .accesses = 1});
    run.read(1, kOther);
    run.write(1, kFlag);
    return places(run.candidates());
  };
  EXPECT_THAT(found(false), ElementsAre(std::pair(size_t{1}, 2u)));
  EXPECT_THAT(found(true), testing::IsEmpty());
}

// A thread that reads on its way to what it writes has not come there yet.
TEST(CoreCandidates, AwaitsTheWriteThatIsMeant) {
  GivenRun run({1, 2});
  run.read(1, kFlag);
  run.read(2, kFlag);
  run.write(2, kFlag);
  const std::vector<CoreCandidate> candidates = run.candidates();
  ASSERT_THAT(places(candidates), ElementsAre(std::pair(size_t{0}, 2u)));
  const auto found = std::ranges::find_if(candidates, [](const CoreCandidate& of) { return of.awaited != 0; });
  EXPECT_FALSE(found->awaits(run.events[1]));
  EXPECT_TRUE(found->awaits(run.events[2]));
}

TEST(CoreCandidates, WhoMeetsNobodyAnyMoreChangesNothingWhenItComesEarlier) {
  const auto nexts = [](bool meets) {
    GivenRun run({1, 2});
    run.write(1, kFlag);
    run.read(2, kFlag);
    const size_t at = run.write(1, kOther);
    run.read(2, kOther);
    run.read(0, meets ? kOther : kOther + 16);
    std::set<uint32_t> out;
    for (const CoreCandidate& candidate : run.candidates())
      if (candidate.event == at) out.insert(candidate.next);
    return out;
  };
  EXPECT_THAT(nexts(true), ElementsAre(0u, 2u));
  EXPECT_THAT(nexts(false), ElementsAre(2u));
}

}  // namespace
}  // namespace heddle
