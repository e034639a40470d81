#include "replay/strategy.h"

#include <gtest/gtest.h>

#include "replay/controlled_program.h"

namespace heddle {
namespace {

TEST(Strategy, NamesAreReadAndWritten) {
  for (const char* text : {"nonpreemptive", "random", "pos", "hold", "pct:1", "pct:17"})
    EXPECT_EQ(Strategy::parse(text)->text(), text);
  EXPECT_EQ(Strategy::parse("pct")->text(), "pct:3");
  for (const char* text : {"", "Random", "pct:", "pct:0", "pct:x", "pct:3 ", "pct:-1", "pct:1001"})
    EXPECT_FALSE(Strategy::parse(text)) << text;
}

TEST(CommonFolder, IsTheLongestThatHoldsAll) {
  EXPECT_EQ(common_folder({"/a/b/c.c"}), "/a/b/");
  EXPECT_EQ(common_folder({"/a/b/c.c", "/a/b/d/e.c"}), "/a/b/");
  EXPECT_EQ(common_folder({"/a/bc/c.c", "/a/b/e.c"}), "/a/");
  EXPECT_EQ(common_folder({"/a/c.c", "/b/e.c"}), "");
  EXPECT_EQ(common_folder({}), "");
}

}  // namespace
}  // namespace heddle
