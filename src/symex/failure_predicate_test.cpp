#include "symex/failure_predicate.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr uint64_t kBlock = 0x1000, kOther = 0x2000;

Event release(uint64_t address) {
  return {.kind = EventKind::release, .size = 16, .address = address};
}

Event read_of(uint64_t address) {
  return {.kind = EventKind::read, .size = 4, .address = address};
}

// Two threads whose process the C library ended inside free().
class DoubleFree : public testing::Test {
 protected:
  DoubleFree() {
    main_.name = "0";
    other_.name = "0.1";
    info_.failure = RecordedFailure{.kind = "abort", .identity = "abort here"};
    info_.threads.push_back({.name = "0", .stack = {{.function = "free", .library = "libc.so.6"}}});
  }

  FailurePredicate predicate() {
    std::vector<ThreadEnd> ends = {{.trace = main_}, {.trace = other_}};
    return failure_predicate(info_, ends);
  }

  RecordingInfo info_;
  ThreadTrace main_, other_;
};

TEST_F(DoubleFree, EndsBeforeTheSecondReleaseOfTheThreadThatFailed) {
  info_.failure->thread = "0";
  main_.events = {read_of(kBlock), release(kBlock), release(kOther)};
  other_.events = {release(kBlock), read_of(kOther)};
  const FailurePredicate failure = predicate();
  EXPECT_EQ(failure.kind, FailurePredicate::Kind::freed);
  EXPECT_EQ(failure.thread, 0u);
  EXPECT_EQ(failure.address, kBlock);
  EXPECT_EQ(main_.events.size(), 1u);
  EXPECT_EQ(other_.events.size(), 2u);
}

TEST_F(DoubleFree, KeepsTheFirstOfTwoReleasesByOneThread) {
  info_.failure->thread = "0";
  main_.events = {release(kBlock), read_of(kOther), release(kBlock)};
  main_.constraints = {{.events = 1}, {.events = 2}, {.events = 3}};
  const FailurePredicate failure = predicate();
  EXPECT_EQ(failure.thread, 0u);
  EXPECT_EQ(main_.events.size(), 2u);
  EXPECT_EQ(main_.constraints.size(), 2u);
}

TEST_F(DoubleFree, TakesAnotherThreadWhenItWasNoticedLate) {
  info_.failure->thread = "0";
  main_.events = {release(kOther)};
  other_.events = {release(kBlock), release(kBlock)};
  EXPECT_EQ(predicate().thread, 1u);
  EXPECT_EQ(other_.events.size(), 1u);
}

TEST_F(DoubleFree, IsReachedOnlyWhenNothingWasReleasedTwice) {
  info_.failure->thread = "0.1";
  main_.events = {release(kOther)};
  other_.events = {release(kBlock)};
  const FailurePredicate failure = predicate();
  EXPECT_EQ(failure.kind, FailurePredicate::Kind::reached);
  EXPECT_EQ(failure.thread, 1u);
}

TEST(FailurePredicate, OfAHangIsThatNobodyCanGoOn) {
  RecordingInfo info;
  info.failure = RecordedFailure{.kind = "hang"};
  ThreadTrace waits, ended;
  const SyncEntry lock{.kind = HEDDLE_SYNC_mutex_lock, .object = {kBlock}};
  std::vector<ThreadEnd> ends = {{.trace = waits, .pending = lock}, {.trace = ended, .finished = true}};
  const FailurePredicate failure = failure_predicate(info, ends);
  EXPECT_EQ(failure.kind, FailurePredicate::Kind::deadlock);
  ASSERT_EQ(failure.waiting.size(), 2u) << "the one that has ended must have ended";
  EXPECT_EQ(failure.waiting[1].operation.kind, EventKind::once_passed);
  EXPECT_EQ(failure.waiting[0].operation.kind, EventKind::lock);
  EXPECT_EQ(failure.waiting[0].operation.address, kBlock);
}

TEST(FailurePredicate, OfAnExitCodeIsThatItsCallerCameThere) {
  RecordingInfo info;
  info.failure = RecordedFailure{.kind = "exit:3"};
  ThreadTrace main, other;
  std::vector<ThreadEnd> ends = {{.trace = main}, {.trace = other, .exits = true}};
  const FailurePredicate failure = failure_predicate(info, ends);
  EXPECT_EQ(failure.kind, FailurePredicate::Kind::reached);
  EXPECT_EQ(failure.thread, 1u);
}

TEST_F(DoubleFree, ALockThatWasRefusedIsAUseOfWhatIsGone) {
  info_.failure = RecordedFailure{.kind = "exit:3", .identity = "exit:3", .thread = "0.1"};
  info_.threads.clear();
  main_.events = {read_of(kOther), release(kBlock)};
  other_.events = {read_of(kOther), {.kind = EventKind::sync, .address = kBlock + 8}, read_of(kOther)};
  other_.constraints = {{.events = 1}, {.events = 3}};
  std::vector<ThreadEnd> ends = {{.trace = main_}, {.trace = other_, .exits = true}};
  const FailurePredicate failure = failure_predicate(info_, ends);
  EXPECT_EQ(failure.kind, FailurePredicate::Kind::freed);
  EXPECT_EQ(failure.thread, 1u);
  EXPECT_EQ(failure.address, kBlock + 8);
  EXPECT_EQ(other_.events.size(), 1u);
  EXPECT_EQ(other_.constraints.size(), 1u);
  EXPECT_EQ(main_.events.size(), 2u);
}

}  // namespace
}  // namespace heddle
