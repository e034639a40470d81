#include <gtest/gtest.h>

#include <map>
#include <random>

#include "trace/sync_state.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

constexpr uint32_t kThreads = 3;
constexpr uint64_t kObject = 0x2000, kOther = 0x2008, kBlock = 0x3000;

Event random_event(std::mt19937_64& random) {
  constexpr EventKind kKinds[] = {
      EventKind::lock,          EventKind::unlock,         EventKind::read_lock,
      EventKind::read_unlock,   EventKind::write_lock,     EventKind::write_unlock,
      EventKind::wait_begin,    EventKind::wait_end,       EventKind::wait_timeout,
      EventKind::signal,        EventKind::broadcast,      EventKind::barrier_arrive,
      EventKind::barrier_leave, EventKind::semaphore_wait, EventKind::semaphore_post,
      EventKind::once_begin,    EventKind::once_done,      EventKind::init,
      EventKind::destroy,       EventKind::allocate,       EventKind::release,
      EventKind::exit};
  Event event{.kind = kKinds[random() % std::size(kKinds)]};
  const bool block = event.kind == EventKind::allocate || event.kind == EventKind::release;
  event.address = block ? kBlock + 8 * (random() % 3) : random() % 2 == 0 ? kObject : kOther;
  event.size = block ? 8 * (1 + random() % 3) : 0;
  event.recursive = random() % 4 == 0;
  event.second = event.kind == EventKind::wait_begin || event.kind == EventKind::wait_end ||
                         event.kind == EventKind::wait_timeout
                     ? kOther
                     : random() % 3;
  return event;
}

// What can be seen of a state: which of many operations are possible.
std::vector<bool> possible(const SyncState& state) {
  std::mt19937_64 random(1);
  std::vector<bool> out;
  for (unsigned i = 0; i < 400; ++i) out.push_back(state.is_enabled(i % kThreads, random_event(random)));
  for (const uint64_t object : {kObject, kOther}) out.push_back(state.semaphore(object) % 2 != 0);
  for (uint64_t at = kBlock; at < kBlock + 48; at += 8) out.push_back(state.is_released(at));
  return out;
}

struct Done {
  SyncState::Part part;
  Hash128 hash;
  std::vector<bool> seen;
};

TEST(SyncUndo, GoesBackToWhatWas) {
  const TraceBuilder builder(kThreads);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    SyncState state(builder.trace);
    Hash128 hash;
    std::vector<Done> done;
    for (unsigned i = 0; i < 60; ++i) {
      const auto thread = static_cast<uint32_t>(random() % kThreads);
      const Event event = random_event(random);
      if (random() % 3 == 0 && !done.empty()) {
        state.restore(done.back().part);
        ASSERT_EQ(possible(state), done.back().seen) << seed;
        hash = done.back().hash;
        done.pop_back();
      } else if (state.is_enabled(thread, event)) {
        done.push_back({.part = state.part(thread, event), .hash = hash, .seen = possible(state)});
        hash ^= state.hash(thread, event);
        state.perform(thread, event);
        hash ^= state.hash(thread, event);
      }
    }
  }
}

struct Op {
  uint32_t thread;
  Event event;
};

Hash128 hash_after(const std::vector<Op>& ops) {
  const TraceBuilder builder(kThreads);
  SyncState state(builder.trace);
  Hash128 hash;
  for (const auto& [thread, event] : ops) {
    EXPECT_TRUE(state.is_enabled(thread, event));
    hash ^= state.hash(thread, event);
    state.perform(thread, event);
    hash ^= state.hash(thread, event);
  }
  return hash;
}

Op op(uint32_t thread, EventKind kind, uint64_t address = kObject, uint64_t second = 0, uint32_t size = 0) {
  return {thread, {.kind = kind, .size = size, .address = address, .second = second}};
}

TEST(SyncUndo, WhatIsUndoneByEventsLeavesNoTrace) {
  EXPECT_EQ(hash_after({}), (Hash128{}));
  EXPECT_EQ(hash_after({op(0, EventKind::lock), op(0, EventKind::unlock)}), (Hash128{}));
  EXPECT_EQ(hash_after({op(0, EventKind::semaphore_post), op(1, EventKind::semaphore_wait)}), (Hash128{}));
  EXPECT_NE(hash_after({op(0, EventKind::lock)}), (Hash128{}));
  EXPECT_NE(hash_after({op(0, EventKind::lock)}), hash_after({op(1, EventKind::lock)}));
  EXPECT_NE(hash_after({op(0, EventKind::lock)}), hash_after({op(0, EventKind::lock, kOther)}));
  EXPECT_NE(hash_after({op(0, EventKind::allocate, kBlock, 0, 8)}),
            hash_after({op(0, EventKind::release, kBlock, 0, 8)}));
}

TEST(SyncUndo, OfWaitsOnlyWhoCanBeWokenByWhatCounts) {
  const Op wait0 = op(0, EventKind::wait_begin, kObject, kOther),
           wait1 = op(1, EventKind::wait_begin, kObject, kOther);
  const Op signal = op(2, EventKind::signal), broadcast = op(2, EventKind::broadcast);
  // A signal that nobody waits for is lost.
  EXPECT_EQ(hash_after({signal, wait0}), hash_after({wait0}));
  EXPECT_NE(hash_after({wait0, signal}), hash_after({wait0}));
  EXPECT_NE(hash_after({wait0, wait1, signal}), hash_after({wait0, signal, wait1}));
  EXPECT_NE(hash_after({wait0, wait1, signal}), hash_after({wait0, wait1, broadcast}));
  EXPECT_NE(hash_after({wait0, wait1, signal}), hash_after({wait0, wait1, signal, signal}));
  EXPECT_EQ(hash_after({broadcast, wait0, wait1, broadcast}), hash_after({wait0, wait1, broadcast}));
}

}  // namespace
}  // namespace heddle
