#include "schedule/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Location, TextsOfAllKindsComeBack) {
  const ThreadName thread = ThreadName().child(1);
  const std::pair<Location, const char*> kTexts[] = {
      {Location::global("counter", 4), "global:counter+4"},
      {Location::global("operator+", 0), "global:operator++0"},
      {Location::global("heap:0/1+2", 3), "global:heap:0/1+2+3"},
      {Location::tls(thread, "a/b", 8), "tls:0:1/a/b+8"},
      {Location::heap(ThreadName(), 3, 16), "heap:0/3+16"},
      {Location::map(thread, 0, 4096), "map:0:1/0+4096"},
      {Location::stack(thread, 2, 1, 8), "stack:0:1/2/1+8"},
      {Location::address(0x7fff0010), "address:0x7fff0010"},
      {Location::address(UINT64_MAX), "address:0xffffffffffffffff"},
  };
  for (const auto& [location, text] : kTexts) {
    EXPECT_EQ(location.text(), text);
    const auto parsed = Location::parse(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, location) << text;
  }
}

TEST(Location, WhatIsMissingIsAnError) {
  for (const char* text : {"",
                           "counter",
                           "counter+4",
                           "global:",
                           "global:x",
                           "global:+4",
                           "global:x+",
                           "global:x+-1",
                           "global:x+0x4",
                           "tls:0:1+4",
                           "tls:0:1/+4",
                           "tls:1/x+0",
                           "heap:0+1",
                           "heap:0/+1",
                           "heap:0/a+1",
                           "heap:0/1/2+3",
                           "stack:0/1+2",
                           "stack:0/1/+2",
                           "stack:0//1+2",
                           "address:",
                           "address:0x",
                           "address:12",
                           "address:0x12g",
                           "address:0x10000000000000000",
                           "heap:0/18446744073709551616+0",
                           "Global:x+1"}) {
    EXPECT_FALSE(Location::parse(text)) << text;
  }
  EXPECT_THAT(Location::parse("x").error().why, testing::HasSubstr("stack:THREAD/DEPTH/K+OFFSET"));
}

TEST(Location, EqualMeansTheSamePlace) {
  EXPECT_NE(Location::heap(ThreadName(), 3, 16), Location::map(ThreadName(), 3, 16));
  EXPECT_NE(Location::heap(ThreadName(), 3, 16), Location::heap(ThreadName().child(0), 3, 16));
  EXPECT_NE(Location::stack(ThreadName(), 0, 1, 0), Location::stack(ThreadName(), 1, 0, 0));
}

}  // namespace
}  // namespace heddle
