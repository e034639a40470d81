#include "symex/joined_threads.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle {
namespace {

constexpr uint64_t kHandle = 0x7000, kOther = 0x8000;

TEST(JoinedThreads, OneHandleAfterAnother) {
  const std::vector<ThreadLife> threads = {{.maker = "", .handle = 1, .begin = 1},
                                           {.maker = "0", .handle = kHandle, .begin = 30, .end = 40},
                                           {.maker = "0", .handle = kHandle, .begin = 10, .end = 20},
                                           {.maker = "0", .handle = kOther, .begin = 10, .end = 50}};
  JoinedThreads joined(threads, "0");
  EXPECT_EQ(joined.join(kHandle, std::nullopt), 2u);
  EXPECT_EQ(joined.join(kOther, std::nullopt), 3u);
  EXPECT_EQ(joined.join(kHandle, std::nullopt), 1u);
  EXPECT_EQ(joined.join(kHandle, std::nullopt), std::nullopt);
}

TEST(JoinedThreads, ItsOwnBeforeThoseOfOthers) {
  const std::vector<ThreadLife> threads = {{.maker = "0.1", .handle = kHandle, .begin = 10, .end = 20},
                                           {.maker = "0.2", .handle = kHandle, .begin = 30, .end = 40}};
  EXPECT_EQ(JoinedThreads(threads, "0.1").join(kHandle, 60), 0u);
  EXPECT_EQ(JoinedThreads(threads, "0.2").join(kHandle, 60), 1u);
}

TEST(JoinedThreads, OfOthersTheLastThatHadEnded) {
  const std::vector<ThreadLife> threads = {{.maker = "0.1", .handle = kHandle, .begin = 10, .end = 20},
                                           {.maker = "0.1", .handle = kHandle, .begin = 30, .end = 40},
                                           {.maker = "0.1", .handle = kHandle, .begin = 50, .end = 0}};
  EXPECT_EQ(JoinedThreads(threads, "0").join(kHandle, 25), 0u);
  EXPECT_EQ(JoinedThreads(threads, "0").join(kHandle, 45), 1u);
  EXPECT_EQ(JoinedThreads(threads, "0").join(kHandle, std::nullopt), 1u);
  EXPECT_EQ(JoinedThreads(threads, "0").join(kHandle, 15), std::nullopt);
}

}  // namespace
}  // namespace heddle
