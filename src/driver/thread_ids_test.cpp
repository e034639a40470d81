#include "driver/thread_ids.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Threads = std::vector<uint32_t>;

TEST(ThreadIds, OneByOne) {
  EXPECT_EQ(threads_by_id({{2, {1, 2, 3}}, {4, {4}}}), Threads({2, 4}));
}

// A foreign id came before the last thread at the latest: three workers, then a collector.
TEST(ThreadIds, ForeignIdsBefore) {
  EXPECT_EQ(threads_by_id({{4, {1, 2, 3}}, {5, {4}}}), Threads({3, 4}));
  EXPECT_EQ(threads_by_id({{2, {1, 2, 3}}, {6, {4}}}), Threads({2, 4}));
}

TEST(ThreadIds, SeveralOfAKind) {
  EXPECT_EQ(threads_by_id({{1, {1, 2, 3}}, {9, {1, 2, 3}}}), Threads({1, 3}));
  EXPECT_EQ(threads_by_id({{8, {1, 2, 3}}, {9, {1, 2, 3}}}), Threads({2, 3}));
}

// The last choice of the later one leaves none for the earlier one.
TEST(ThreadIds, TakesAnotherBack) {
  EXPECT_EQ(threads_by_id({{3, {1}}, {5, {2, 4}}}), Threads({1, 2}));
}

TEST(ThreadIds, NoAnswer) {
  EXPECT_EQ(threads_by_id({{1, {2}}}), Threads());
  EXPECT_EQ(threads_by_id({{7, {1}}, {8, {8}}}), Threads());
}

}  // namespace
}  // namespace heddle
