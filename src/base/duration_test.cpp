#include "base/duration.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsUnitsAndSums) {
  EXPECT_EQ(*parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_duration("30s"), milliseconds(30'000));
  EXPECT_EQ(*parse_duration("1.5s"), milliseconds(1'500));
  EXPECT_EQ(*parse_duration("5m"), milliseconds(300'000));
  EXPECT_EQ(*parse_duration("2h"), milliseconds(7'200'000));
  EXPECT_EQ(*parse_duration("1m30s"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("0s"), milliseconds(0));
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "s", "10", "-1s", "1x", "1s ", "nan s", "infs", "1e9s", "10000000d"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().exit, ExitCode::usage);
  }
}

TEST(Duration, IsWrittenForPeople) {
  EXPECT_EQ(duration_text(milliseconds(250)), "0.25 s");
  EXPECT_EQ(duration_text(milliseconds(12'999)), "12 s");
  EXPECT_EQ(duration_text(milliseconds(185'000)), "3 m 05 s");
  EXPECT_EQ(duration_text(milliseconds(7'800'000)), "2 h 10 m");
}

}  // namespace
}  // namespace heddle
