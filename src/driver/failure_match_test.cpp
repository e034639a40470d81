#include "driver/failure_match.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

RecordedFailure recorded(std::string kind, std::string function = "work") {
  return {.kind = kind, .identity = kind + " a.c:7 " + function, .place = RecordedPlace{"a.c", 7, function}};
}

Failure controlled(std::string kind, uint32_t line = 7, std::string function = "work") {
  Failure failure{.kind = kind, .place = CodePlace{"a.c", line, function}};
  failure.stack.push_back({.function = function, .place = failure.place});
  failure.identity = kind + " " + place_text(failure.place);
  return failure;
}

TEST(FailureMatch, SameIdentityOrFunction) {
  EXPECT_EQ(match(recorded("assert"), controlled("assert")), FailureMatch::same);
  EXPECT_EQ(match(recorded("ill"), controlled("ill", 9)), FailureMatch::same) << "lines may be merged";
  EXPECT_EQ(match(recorded("assert"), controlled("assert", 7, "other")), FailureMatch::none);
  EXPECT_EQ(match({.kind = "abort", .identity = "abort"}, controlled("abort")), FailureMatch::same);
  EXPECT_EQ(match(recorded("assert"), controlled("segv")), FailureMatch::none);
}

TEST(FailureMatch, AnotherAssertionOfTheFunction) {
  RecordedFailure before = recorded("assert");
  Failure after = controlled("assert", 9);
  before.text = "items == 2";
  EXPECT_EQ(match(before, after), FailureMatch::same) << "nobody knows which";
  after.text = "items == 2";
  EXPECT_EQ(match(before, after), FailureMatch::same);
  after.text = "sum == 3";
  EXPECT_EQ(match(before, after), FailureMatch::none);
}

TEST(FailureMatch, CausesOfWhatWasSeen) {
  EXPECT_EQ(match(recorded("segv"), controlled("use-after-free")), FailureMatch::cause);
  EXPECT_EQ(match(recorded("hang"), controlled("lost-wakeup")), FailureMatch::cause);
  EXPECT_EQ(match(recorded("hang"), controlled("assert")), FailureMatch::none);
  EXPECT_EQ(match(recorded("hang"), controlled("use-after-free")), FailureMatch::cause);
  EXPECT_EQ(match(recorded("segv"), controlled("deadlock")), FailureMatch::none);
}

}  // namespace
}  // namespace heddle
