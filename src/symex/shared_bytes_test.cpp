#include "symex/shared_bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace heddle {
namespace {

TEST(SharedBytes, TwoThreadsAndAWrite) {
  AccessNotes a, b;
  a.note(100, 4, true, 0);
  b.note(102, 4, false, 0);
  a.note(200, 8, false, 0);
  b.note(200, 8, false, 0);  // only read
  a.note(300, 8, true, 0);   // by one alone
  const AccessNotes* const threads[] = {&a, &b};
  const ThreadOrigin origins[2] = {};
  SharedBytes shared;
  EXPECT_TRUE(add_shared(threads, origins, shared));
  EXPECT_EQ(shared.count(), 2u);
  EXPECT_TRUE(shared.contains(102, 1));
  EXPECT_TRUE(shared.contains(96, 8));
  EXPECT_FALSE(shared.contains(104, 200));
  EXPECT_FALSE(add_shared(threads, origins, shared));
}

TEST(SharedBytes, WhatAMakerDidBeforeIsNotShared) {
  AccessNotes maker, made, grandchild;
  maker.note(100, 4, true, 0);
  made.note(100, 4, false, 0);
  grandchild.note(100, 4, false, 0);
  maker.note(200, 4, true, 1);  // after it had made the thread
  made.note(200, 4, false, 0);
  const AccessNotes* const threads[] = {&maker, &made, &grandchild};
  const ThreadOrigin origins[] = {{}, {.maker = 0, .epoch = 0}, {.maker = 1, .epoch = 0}};
  SharedBytes shared;
  add_shared(threads, origins, shared);
  EXPECT_FALSE(shared.contains(100, 4));
  EXPECT_TRUE(shared.contains(200, 4));
}

TEST(SharedBytes, StacksOfTwoThreadsAtOnePlace) {
  AccessNotes first, second, third;
  first.note(1000, 8, true, 0);
  second.note(1000, 8, true, 0);
  first.note(3000, 8, true, 0);  // behind the stacks
  second.note(3000, 8, false, 0);
  first.note(1016, 4, true, 0);
  third.note(1016, 4, false, 0);  // lent to a thread whose stack is elsewhere
  const AccessNotes* const threads[] = {&first, &second, &third};
  const ThreadOrigin origins[] = {{.stack_low = 0, .stack_high = 2000},
                                  {.stack_low = 0, .stack_high = 2000},
                                  {.stack_low = 4000, .stack_high = 6000}};
  SharedBytes shared;
  add_shared(threads, origins, shared);
  EXPECT_FALSE(shared.contains(1000, 8));
  EXPECT_TRUE(shared.covers(3000, 8));
  EXPECT_TRUE(shared.covers(1016, 4));
  EXPECT_FALSE(shared.covers(1016, 5));
  EXPECT_FALSE(shared.covers(1012, 8));
}

// Against a comparison of all pairs of accesses.
TEST(SharedBytes, RandomAccesses) {
  std::mt19937 random(7);
  const auto below = [&](uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const size_t count = 2 + below(4);
    std::vector<ThreadOrigin> origins(count);
    for (uint32_t i = 1; i < count; ++i)
      origins[i] = {.maker = static_cast<uint32_t>(below(i)), .epoch = static_cast<uint32_t>(below(3))};
    struct One {
      uint32_t thread;
      uint64_t byte;
      bool writes;
      uint32_t epoch;
    };
    std::vector<One> all;
    std::vector<AccessNotes> notes(count);
    for (uint32_t thread = 0; thread < count; ++thread) {
      uint32_t epoch = 0;
      for (uint64_t i = 0; i < 6; ++i) {
        epoch += below(3) == 0;
        const uint64_t at = 4090 + 8 * below(3), size = 1 + below(8);
        const bool writes = below(2) == 0;
        notes[thread].note(at, size, writes, epoch);
        for (uint64_t byte = at; byte < at + size; ++byte) all.push_back({thread, byte, writes, epoch});
      }
    }
    const auto before = [&](const One& first, const One& other) {
      for (uint32_t at = other.thread; origins[at].maker != ThreadOrigin::kNone; at = origins[at].maker)
        if (origins[at].maker == first.thread) return first.epoch <= origins[at].epoch;
      return false;
    };
    std::set<uint64_t> wanted;
    for (const One& a : all)
      for (const One& b : all)
        if (a.thread != b.thread && a.byte == b.byte && (a.writes || b.writes) && !before(a, b) &&
            !before(b, a))
          wanted.insert(a.byte);
    std::vector<const AccessNotes*> threads;
    for (const AccessNotes& each : notes) threads.push_back(&each);
    SharedBytes shared;
    add_shared(threads, origins, shared);
    for (uint64_t byte = 4080; byte < 4130; ++byte)
      if (wanted.contains(byte)) {
        EXPECT_TRUE(shared.contains(byte, 1)) << round << " " << byte;
      } else if (shared.contains(byte, 1)) {
        // The epochs are those of words: more may be taken for shared, but only what two threads use.
        std::set<uint32_t> users;
        for (const One& each : all)
          if (each.byte == byte) users.insert(each.thread);
        EXPECT_GT(users.size(), 1u);
      }
  }
}

}  // namespace
}  // namespace heddle
