#include "trace/sync_state.h"

#include <gtest/gtest.h>

#include "trace/evaluator.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

constexpr uint64_t kMutex = 0x100, kCondition = 0x200, kOther = 0x300;

// Threads that are there from the start; each call tries one event, and carries it out if it can be.
class Synchronisation : public testing::Test {
 protected:
  bool can(uint32_t thread, Event event) {
    if (!state.is_enabled(thread, event)) return false;
    state.perform(thread, event);
    return true;
  }
  bool can(uint32_t thread, EventKind kind, uint64_t address, uint64_t second = 0) {
    return can(thread, Event{.kind = kind, .address = address, .second = second});
  }
  bool wait(uint32_t thread) { return can(thread, EventKind::wait_begin, kCondition, kMutex); }
  bool woken(uint32_t thread) {  // and gives the mutex back
    return can(thread, EventKind::wait_end, kCondition, kMutex) && can(thread, EventKind::unlock, kMutex);
  }

  TraceBuilder builder{4};
  SyncState state{builder.trace};
};

TEST_F(Synchronisation, Mutexes) {
  EXPECT_FALSE(can(0, EventKind::lock_failed, kMutex));
  EXPECT_TRUE(can(0, EventKind::lock, kMutex));
  EXPECT_FALSE(can(1, EventKind::lock, kMutex));
  EXPECT_FALSE(can(0, EventKind::lock, kMutex));
  EXPECT_TRUE(can(1, EventKind::lock_failed, kMutex));
  EXPECT_TRUE(can(0, EventKind::unlock, kMutex));
  EXPECT_TRUE(can(1, EventKind::lock, kMutex));
}

TEST_F(Synchronisation, RecursiveMutexes) {
  const Event lock{.kind = EventKind::lock, .recursive = true, .address = kMutex};
  const Event unlock{.kind = EventKind::unlock, .recursive = true, .address = kMutex};
  EXPECT_FALSE(can(0, unlock));
  EXPECT_TRUE(can(0, lock));
  EXPECT_TRUE(can(0, lock));
  EXPECT_FALSE(can(1, unlock));
  EXPECT_TRUE(can(0, unlock));
  EXPECT_FALSE(can(1, lock));
  EXPECT_TRUE(can(0, unlock));
  EXPECT_TRUE(can(1, lock));
}

TEST_F(Synchronisation, ReadWriteLocks) {
  EXPECT_TRUE(can(0, EventKind::read_lock, kOther));
  EXPECT_TRUE(can(1, EventKind::read_lock, kOther));
  EXPECT_FALSE(can(2, EventKind::write_lock, kOther));
  EXPECT_TRUE(can(2, EventKind::write_lock_failed, kOther));
  EXPECT_FALSE(can(2, EventKind::read_lock_failed, kOther));
  EXPECT_TRUE(can(0, EventKind::read_unlock, kOther));
  EXPECT_FALSE(can(2, EventKind::write_lock, kOther));
  EXPECT_TRUE(can(1, EventKind::read_unlock, kOther));
  EXPECT_TRUE(can(2, EventKind::write_lock, kOther));
  EXPECT_FALSE(can(0, EventKind::read_lock, kOther));
  EXPECT_TRUE(can(0, EventKind::read_lock_failed, kOther));
  EXPECT_FALSE(can(0, EventKind::write_unlock, kOther));
  EXPECT_TRUE(can(2, EventKind::write_unlock, kOther));
  EXPECT_TRUE(can(0, EventKind::write_lock, kOther));
}

TEST_F(Synchronisation, SignalsWakeOneOfThoseThatWait) {
  EXPECT_TRUE(can(3, EventKind::signal, kCondition));  // lost
  EXPECT_TRUE(wait(0));
  EXPECT_FALSE(woken(0));
  EXPECT_TRUE(wait(1));
  EXPECT_TRUE(can(3, EventKind::signal, kCondition));
  EXPECT_TRUE(wait(2));
  EXPECT_FALSE(woken(2));  // came too late for it
  EXPECT_TRUE(woken(1));
  EXPECT_FALSE(woken(0));
  EXPECT_TRUE(can(3, EventKind::signal, kCondition));
  EXPECT_TRUE(woken(2));
  EXPECT_FALSE(woken(0));
}

TEST_F(Synchronisation, TheOldestSignalIsTaken) {
  EXPECT_TRUE(wait(0));
  EXPECT_TRUE(can(3, EventKind::signal, kCondition));
  EXPECT_TRUE(wait(1));
  EXPECT_TRUE(can(3, EventKind::signal, kCondition));
  EXPECT_TRUE(woken(0));  // by the first, though the second would do
  EXPECT_TRUE(woken(1));
}

TEST_F(Synchronisation, BroadcastsWakeAll) {
  EXPECT_TRUE(wait(0));
  EXPECT_TRUE(wait(1));
  EXPECT_TRUE(can(3, EventKind::broadcast, kCondition));
  EXPECT_TRUE(wait(2));
  EXPECT_TRUE(can(3, EventKind::destroy, kCondition));  // allowed once all were woken
  EXPECT_TRUE(woken(0));
  EXPECT_TRUE(woken(1));
  EXPECT_FALSE(woken(2));
}

TEST_F(Synchronisation, WaitsReleaseAndTakeTheMutex) {
  EXPECT_TRUE(can(0, EventKind::lock, kMutex));
  EXPECT_TRUE(wait(0));
  EXPECT_TRUE(can(1, EventKind::lock, kMutex));
  EXPECT_TRUE(can(1, EventKind::signal, kCondition));
  EXPECT_FALSE(can(0, EventKind::wait_end, kCondition, kMutex));
  EXPECT_FALSE(can(0, EventKind::wait_timeout, kCondition, kMutex));
  EXPECT_TRUE(can(1, EventKind::unlock, kMutex));
  EXPECT_TRUE(can(0, EventKind::wait_timeout, kCondition, kMutex));
  EXPECT_FALSE(can(1, EventKind::lock, kMutex));
  EXPECT_FALSE(can(0, EventKind::wait_timeout, kCondition, kMutex));  // does not wait any more
}

TEST_F(Synchronisation, Barriers) {
  EXPECT_TRUE(can(0, EventKind::init, kOther, 2));
  for (unsigned round = 0; round < 3; ++round) {
    EXPECT_FALSE(can(0, EventKind::barrier_arrive, kOther, 1));  // it is not the last
    EXPECT_TRUE(can(0, EventKind::barrier_arrive, kOther));
    EXPECT_FALSE(can(0, EventKind::barrier_leave, kOther));
    EXPECT_FALSE(can(1, EventKind::barrier_arrive, kOther));
    EXPECT_TRUE(can(1, EventKind::barrier_arrive, kOther, 1));
    EXPECT_FALSE(can(2, EventKind::destroy, kOther));
    if (round != 1) EXPECT_TRUE(can(1, EventKind::barrier_leave, kOther));  // may be left out
    EXPECT_TRUE(can(0, EventKind::barrier_leave, kOther));
  }
  EXPECT_TRUE(can(2, EventKind::destroy, kOther));
}

TEST_F(Synchronisation, Semaphores) {
  EXPECT_FALSE(can(0, EventKind::semaphore_wait, kOther));
  EXPECT_TRUE(can(0, EventKind::init, kOther, 1));
  EXPECT_FALSE(can(0, EventKind::semaphore_failed, kOther));
  EXPECT_TRUE(can(0, EventKind::semaphore_wait, kOther));
  EXPECT_TRUE(can(1, EventKind::semaphore_failed, kOther));
  EXPECT_TRUE(can(0, EventKind::semaphore_post, kOther));
  EXPECT_EQ(state.semaphore(kOther), 1u);
  EXPECT_TRUE(can(1, EventKind::semaphore_wait, kOther));
}

TEST_F(Synchronisation, Once) {
  EXPECT_FALSE(can(0, EventKind::once_passed, kOther));
  EXPECT_TRUE(can(0, EventKind::once_begin, kOther));
  EXPECT_FALSE(can(1, EventKind::once_begin, kOther));
  EXPECT_FALSE(can(1, EventKind::once_done, kOther));
  EXPECT_TRUE(can(0, EventKind::once_done, kOther, 1));  // an exception
  EXPECT_FALSE(can(1, EventKind::once_passed, kOther));
  EXPECT_TRUE(can(1, EventKind::once_begin, kOther));
  EXPECT_TRUE(can(1, EventKind::once_done, kOther));
  EXPECT_TRUE(can(0, EventKind::once_passed, kOther));
  EXPECT_FALSE(can(0, EventKind::once_begin, kOther));
}

TEST_F(Synchronisation, Blocks) {
  const auto allocate = [&](uint64_t at, uint32_t size) {
    return can(0, Event{.kind = EventKind::allocate, .size = size, .address = at});
  };
  EXPECT_TRUE(allocate(0x1000, 0x100));
  EXPECT_FALSE(allocate(0x10ff, 1));
  EXPECT_FALSE(allocate(0xfff, 2));
  EXPECT_TRUE(allocate(0x1100, 0x10));
  EXPECT_FALSE(state.is_released(0x1050));
  EXPECT_TRUE(can(1, EventKind::release, 0x1000));
  EXPECT_TRUE(state.is_released(0x10ff));
  EXPECT_FALSE(state.is_released(0x1100));
  EXPECT_FALSE(can(1, EventKind::release, 0x1000));  // twice
  EXPECT_TRUE(allocate(0x1080, 0x10));
  EXPECT_FALSE(state.is_released(0x1080));
}

TEST(ThreadsOfATrace, AreCreatedStartedAndJoined) {
  TraceBuilder builder(2);
  const uint32_t create = builder.add(0, EventKind::create, 1), join = builder.add(0, EventKind::join, 1);
  const uint32_t start = builder.add(1, EventKind::start), exit = builder.add(1, EventKind::exit);
  const auto result = [&](std::vector<OrderItem> order) {
    return evaluate(builder.trace, MemoryModel::sc, order);
  };
  EXPECT_EQ(result({{0, create}, {1, start}, {1, exit}, {0, join}}).kind, Evaluation::Kind::holds);
  EXPECT_EQ(result({{1, start}}).kind, Evaluation::Kind::not_enabled);
  const Evaluation early = result({{0, create}, {1, start}, {0, join}});
  EXPECT_EQ(early.kind, Evaluation::Kind::not_enabled);
  EXPECT_EQ(early.item, 2u);
}

TEST(FailuresOfATrace, DeadlockAndUseAfterFree) {
  TraceBuilder builder(2);
  for (uint32_t t = 0; t < 2; ++t) {
    builder.add(t, EventKind::lock, 0x100 + t);
    builder.trace.failure.waiting.push_back(
        {.thread = t, .operation = {.kind = EventKind::lock, .address = 0x101 - t}});
  }
  builder.trace.failure.kind = FailurePredicate::Kind::deadlock;
  const auto result = [&](std::vector<OrderItem> order) {
    return evaluate(builder.trace, MemoryModel::tso, order).kind;
  };
  EXPECT_EQ(result({{0, 0}, {1, 0}}), Evaluation::Kind::holds);
  EXPECT_EQ(result({{0, 0}}), Evaluation::Kind::no_failure);

  builder.trace.failure = {.kind = FailurePredicate::Kind::freed, .thread = 0, .address = 0x1008};
  builder.add(1, Event{.kind = EventKind::release, .size = 16, .address = 0x1000});
  EXPECT_EQ(result({{0, 0}, {1, 0}}), Evaluation::Kind::no_failure);
  EXPECT_EQ(result({{1, 0}, {1, 1}, {0, 0}}), Evaluation::Kind::holds);
}

}  // namespace
}  // namespace heddle
