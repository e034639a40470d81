#include "base/compress.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

TEST(Compress, RoundTrips) {
  for (const std::string& raw : {std::string(), std::string("abc"), std::string(100'000, 'x')})
    EXPECT_EQ(*decompress(compress(raw), raw.size()), raw);
}

TEST(Compress, AWrongSizeIsAnErrorBeforeMemoryIsTaken) {
  EXPECT_FALSE(decompress(compress("abc"), uint64_t{1} << 60));
  EXPECT_FALSE(decompress(compress("abc"), 2));
}

// A damaged frame gives an error or, where the flipped bit means nothing, the same bytes; never other bytes.
TEST(Compress, DamageIsFound) {
  std::mt19937 random(1);
  std::string raw;
  for (int i = 0; i < 5000; ++i) raw += static_cast<char>('a' + random() % 7);
  const std::string frame = compress(raw);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = frame;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    const Result<std::string> opened = decompress(damaged, raw.size());
    if (opened) EXPECT_EQ(*opened, raw);
  }
  for (size_t cut = 0; cut < frame.size(); cut += 11)
    EXPECT_FALSE(decompress(frame.substr(0, cut), raw.size())) << cut;
}

}  // namespace
}  // namespace heddle
