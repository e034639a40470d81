#include "schedule/thread_name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_set>

namespace heddle {
namespace {

TEST(ThreadName, IsThePathOfCreations) {
  const ThreadName main;
  EXPECT_TRUE(main.is_main());
  EXPECT_EQ(main.text(), "0");
  EXPECT_EQ(main.child(2).child(1).text(), "0:2:1");
  EXPECT_EQ(main.child(2).child(1).parent(), main.child(2));
  EXPECT_EQ(main.child(2).child(1).index_in_parent(), 1u);
  EXPECT_EQ(main.child(2).child(1).depth(), 2u);
}

TEST(ThreadName, OnlyThePrintedFormIsRead) {
  EXPECT_EQ(*ThreadName::parse("0"), ThreadName());
  EXPECT_EQ(*ThreadName::parse("0:0:4294967295"), ThreadName().child(0).child(4294967295u));
  for (const char* text : {"", "1", "00", "0:", ":0", "0::1", "0:01", "0:00", "0:1:", "0:-1", "0:+1", "0: 1",
                           "0:1 ", "0:a", "0:4294967296", "0:99999999999999999999", "0.1", "main", "0:0x1"}) {
    EXPECT_FALSE(ThreadName::parse(text)) << text;
  }
  EXPECT_NE(ThreadName::parse("1").error().why.find("0:0:1"), std::string::npos);
}

TEST(ThreadName, CreatorsComeBeforeWhatTheyCreated) {
  std::vector<ThreadName> names;
  for (const char* text : {"0:10", "0:2:1", "0", "0:2", "0:2:0:5", "0:0"})
    names.push_back(*ThreadName::parse(text));
  std::ranges::sort(names);
  std::string order;
  for (const ThreadName& name : names) order += name.text() + " ";
  EXPECT_EQ(order, "0 0:0 0:2 0:2:0:5 0:2:1 0:10 ");
}

TEST(ThreadName, RandomNamesComeBackAndHashApart) {
  std::mt19937 random(7);
  std::unordered_set<ThreadName> names;
  std::unordered_set<size_t> hashes;
  for (int i = 0; i < 5000; ++i) {
    ThreadName name;
    for (size_t depth = random() % 5; depth > 0; --depth) name = name.child(random() % 50);
    EXPECT_EQ(*ThreadName::parse(name.text()), name);
    names.insert(name);
    hashes.insert(name.hash());
  }
  EXPECT_EQ(hashes.size(), names.size());
}

}  // namespace
}  // namespace heddle
