#include "schedule/text_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule_fixture.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(std::string_view line, Quoting quoting = Quoting::shell) {
  LineWords words(line);
  std::vector<std::string> out;
  while (true) {
    auto word = words.next(quoting);
    if (!word) return {"error " + std::to_string(words.error_column()) + ": " + word.error().what};
    if (word->at_end()) return out;
    out.push_back(word->text);
  }
}

TEST(TextWords, QuotingIsThatOfAShell) {
  EXPECT_THAT(split("  a 'b c'\t\"d e\" f\\ g "), ElementsAre("a", "b c", "d e", "f g"));
  EXPECT_THAT(split("a'b'\"c\"$'d'e"), ElementsAre("abcde"));
  EXPECT_THAT(split("'' \"\" $''"), ElementsAre("", "", ""));
  EXPECT_THAT(split("$'\\n\\t\\r\\\\\\'\\\"\\x41\\xfF1'"), ElementsAre("\n\t\r\\'\"A\xff"
                                                                       "1"));
  EXPECT_THAT(split("\"\\\"\\\\\\$\\`\\n\""), ElementsAre("\"\\$`\\n"));
  EXPECT_THAT(split("a#b # c"), ElementsAre("a#b"));
  EXPECT_THAT(split("'#' \\# x"), ElementsAre("#", "#", "x"));
  EXPECT_THAT(split("f(int)<T*> x|y", Quoting::name), ElementsAre("f(int)<T*>", "x|y"));
}

TEST(TextWords, ErrorsNameTheColumnInCharacters) {
  EXPECT_THAT(split("a 'b"), ElementsAre("error 3: this quote is not closed on its line"));
  EXPECT_THAT(split("\u00e4\u00f6 \"b"), ElementsAre("error 4: this quote is not closed on its line"));
  EXPECT_THAT(split("$'a\\'"), ElementsAre("error 1: this quote is not closed on its line"));
  EXPECT_THAT(split("a > b"), ElementsAre("error 3: '>' without quotes"));
  EXPECT_THAT(split("a$HOME"), ElementsAre("error 2: '$' without quotes"));
  EXPECT_THAT(split("\"$HOME\""), ElementsAre("error 2: '$' inside double quotes"));
  EXPECT_THAT(split("a `b`", Quoting::name), ElementsAre("error 3: '`' without quotes"));
  EXPECT_THAT(split("ab\\"), ElementsAre("error 3: a '\\' at the end of the line"));
  EXPECT_THAT(split("$'ab\\"), ElementsAre("error 5: a '\\' at the end of the line"));
  EXPECT_THAT(split("a\x1b"), ElementsAre("error 2: a control character, '\\x1b'"));
  EXPECT_THAT(split("'a\x1b'"), ElementsAre("error 3: a control character"));
  EXPECT_THAT(split("\"a\x1b\""), ElementsAre("error 3: a control character"));
  EXPECT_THAT(split("$'a\x1b'"), ElementsAre("error 4: a control character"));
  EXPECT_THAT(split("\\\x1b"), ElementsAre("error 2: a control character"));
  for (const char* text : {"$'\\q'", "$'\\x4'", "$'\\xg0'", "$'\\x-1'"}) {
    EXPECT_THAT(split(text).front(), HasSubstr("error 3: expected an escape")) << text;
  }
}

TEST(TextWords, TheSimplestFormIsWritten) {
  EXPECT_EQ(quote_word("--size=3", Quoting::shell), "--size=3");
  EXPECT_EQ(quote_word("a b", Quoting::shell), "'a b'");
  EXPECT_EQ(quote_word("", Quoting::shell), "''");
  EXPECT_EQ(quote_word("@", Quoting::name), "'@'");
  EXPECT_EQ(quote_word("it's\n", Quoting::shell), "$'it\\'s\\n'");
  EXPECT_EQ(quote_word("\u00e4", Quoting::shell), "'\u00e4'");
  EXPECT_EQ(quote_word("f(int)", Quoting::shell), "'f(int)'");
  EXPECT_EQ(quote_word("f(int)", Quoting::name), "f(int)");
}

TEST(TextWords, WhatIsNotVisibleUtf8IsEscaped) {
  // A lone byte, too long a form, a surrogate, beyond the last character, a cut character, a sign that turns
  // the direction of writing.
  for (const char* text :
       {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\u202e"}) {
    for (const char c : quote_word(text, Quoting::shell)) EXPECT_GE(c, 0x20) << text;
  }
  EXPECT_EQ(quote_word("\xf0\x9f\x92\xa9", Quoting::shell), "'\xf0\x9f\x92\xa9'");
}

TEST(TextWords, EveryTextComesBack) {
  RandomSchedules random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.text(true);
    if (i % 10 == 0) text += '\0';
    const Quoting quoting = i % 2 == 0 ? Quoting::shell : Quoting::name;
    EXPECT_THAT(split("x " + quote_word(text, quoting) + " y", quoting), ElementsAre("x", text, "y"));
  }
}

TEST(TextWords, MessagesAreShortAndPrintable) {
  EXPECT_EQ(text_for_message("a\x1b[31m"), "'a\\x1b[31m'");
  EXPECT_EQ(text_for_message(""), "the end of the line");
  EXPECT_EQ(text_for_message(std::string(1000, 'x')).size(), 85u);
}

}  // namespace
}  // namespace heddle
