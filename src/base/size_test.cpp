#include "base/size.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Size, ParsesNumbersAndUnits) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("64K"), 64u << 10);
  EXPECT_EQ(*parse_size("64k"), 64u << 10);
  EXPECT_EQ(*parse_size("64KB"), 64u << 10);
  EXPECT_EQ(*parse_size("64KiB"), 64u << 10);
  EXPECT_EQ(*parse_size("16M"), 16u << 20);
  EXPECT_EQ(*parse_size("2G"), uint64_t{2} << 30);
  EXPECT_EQ(*parse_size("7B"), 7u);
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", "K", "-1", "+1", "1.5M", "64 K", "64X", "64KK", "64KiBs", "64iB", "1e3",
                           "18446744073709551616", "18446744073709551615K", "9999999T"}) {
    const auto size = parse_size(text);
    EXPECT_FALSE(size) << text;
    if (!size) {
      EXPECT_EQ(size.error().exit, ExitCode::usage);
      EXPECT_NE(size.error().what.find(text), std::string::npos);
    }
  }
}

TEST(Size, TextOfEveryMagnitude) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(uint64_t{64} << 20), "64.0 MiB");
  EXPECT_EQ(size_text(uint64_t{5} << 50), "5120.0 TiB");
}

}  // namespace
}  // namespace heddle
