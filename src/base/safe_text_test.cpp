#include "base/safe_text.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(SafeText, TerminalsGetNoControlCharacters) {
  EXPECT_EQ(for_terminal("plain <b>&"), "plain <b>&");
  EXPECT_EQ(for_terminal("a\x1b[31mb\x07\n\t\x7f"), "a\\x1b[31mb\\x07\\x0a\\x09\\x7f");
  EXPECT_EQ(for_terminal("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(for_terminal("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(for_terminal("\xc2\x9b"), "\\xc2\\x9b");                    // CSI in one character
  EXPECT_EQ(for_terminal("\xe2\x80\xae"), "\\xe2\\x80\\xae");           // turns the direction of writing
  EXPECT_EQ(for_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(for_terminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST(SafeText, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(valid_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xe2\x82\xac"), "\xe2\x82\xac");
}

TEST(SafeText, ScriptElementsHoldNoMarkup) {
  const Json json = {{"</script>", "<!--&\xe2\x80\xa8\xe2\x80\xa9\xff"}};
  const std::string text = for_script_element(json);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(Json::parse(text)["</script>"], "<!--&\xe2\x80\xa8\xe2\x80\xa9\xef\xbf\xbd");
}

}  // namespace
}  // namespace heddle
