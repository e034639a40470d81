#include "base/hash128.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace heddle {
namespace {

TEST(Hash128, DependsOnEachWordAndItsPlace) {
  std::unordered_set<Hash128> seen;
  std::unordered_set<uint64_t> low, high;  // each half alone would do for so few
  size_t made = 0;
  const auto add = [&](std::initializer_list<uint64_t> words) {
    const Hash128 hash = hash_of(words);
    seen.insert(hash);
    low.insert(hash.low);
    high.insert(hash.high);
    ++made;
  };
  add({});
  for (uint64_t i = 0; i < 300; ++i) {
    add({i});
    add({(i + 1) << 40});
    for (uint64_t k = 0; k < 300; ++k) add({i, k});
  }
  EXPECT_EQ(seen.size(), made);
  EXPECT_EQ(low.size(), made);
  EXPECT_EQ(high.size(), made);
}

TEST(Hash128, PartsAreTakenOutAgain) {
  const Hash128 a = hash_of({1, 2}), b = hash_of({2, 1});
  EXPECT_NE(a, b);
  EXPECT_EQ(a ^ b ^ a, b);
  EXPECT_EQ(a ^ a, Hash128{});
}

}  // namespace
}  // namespace heddle
