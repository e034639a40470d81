#include "wrapper/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace heddle {
namespace {

using Product = CommandLine::Product;
using Word = CommandLine::Word;
using testing::ElementsAre;

Product product(const std::vector<std::string>& args) {
  return parse_command_line(args).product;
}

std::vector<std::string> inputs(const std::vector<std::string>& args, CommandLine::InputKind kind) {
  std::vector<std::string> out;
  for (const Word& word : parse_command_line(args).words)
    if (word.kind == Word::Kind::input && word.input == kind) out.push_back(word.tokens[0]);
  return out;
}

std::vector<std::string> linker_words(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  for (const Word& word : parse_command_line(args).words)
    if (word.kind == Word::Kind::linker_flag || word.kind == Word::Kind::library)
      out.insert(out.end(), word.tokens.begin(), word.tokens.end());
  return out;
}

TEST(CommandLine, Products) {
  EXPECT_EQ(product({"-c", "a.c"}), Product::object);
  EXPECT_EQ(product({"-S", "a.c"}), Product::assembly);
  EXPECT_EQ(product({"a.c", "-o", "a"}), Product::linked);
  EXPECT_EQ(product({"a.o", "b.a", "-shared", "-o", "a.so"}), Product::linked);
  EXPECT_EQ(product({"-r", "a.o", "b.o", "-o", "c.o"}), Product::partial);
  for (const char* flag : {"-E", "-M", "-MM", "-fsyntax-only", "-emit-llvm"})
    EXPECT_EQ(product({flag, "a.c"}), Product::untouched) << flag;
  // -MD makes dependencies beside the object.
  EXPECT_EQ(product({"-MD", "-MF", "a.d", "-c", "a.c"}), Product::object);
  EXPECT_EQ(product({"-c", "-emit-llvm", "a.c"}), Product::untouched);
  for (const char* flag : {"--version", "-###", "-print-search-dirs", "-dumpmachine"})
    EXPECT_EQ(product({flag, "a.c"}), Product::information) << flag;
  EXPECT_EQ(product({"-v"}), Product::untouched);
  EXPECT_EQ(product({}), Product::untouched);
  EXPECT_EQ(product({"-x", "c++-header", "all.h", "-o", "all.pch"}), Product::untouched);
  EXPECT_EQ(product({"all.hpp"}), Product::untouched);
}

TEST(CommandLine, InputsByNameAndByLanguage) {
  const std::vector<std::string> args = {"a.c",  "b.S", "-x",     "c",      "weird", "-",  "-x",
                                         "none", "c.o", "libd.a", "e.so.1", "-o",    "f.c"};
  EXPECT_THAT(inputs(args, CommandLine::InputKind::source), ElementsAre("a.c", "weird", "-"));
  EXPECT_THAT(inputs(args, CommandLine::InputKind::assembler), ElementsAre("b.S"));
  EXPECT_THAT(inputs(args, CommandLine::InputKind::for_linker), ElementsAre("c.o", "libd.a", "e.so.1"));
  EXPECT_EQ(parse_command_line(args).output, "f.c");
  EXPECT_THAT(inputs({"--", "-odd.c"}, CommandLine::InputKind::source), ElementsAre("-odd.c"));
}

TEST(CommandLine, ArgumentsOfOptionsAreNoInputs) {
  for (const char* option : {"-o", "-I", "-D", "-include", "-isystem", "-MF", "-MT", "-Xclang", "-mllvm", "-T",
                             "-u", "-z", "-Xlinker", "-target", "-L", "-l"})
    EXPECT_TRUE(inputs({option, "a.c"}, CommandLine::InputKind::source).empty()) << option;
}

TEST(CommandLine, KeepsWhatTheLinkerNeedsInOrder) {
  EXPECT_THAT(
      linker_words(
          {"-O2", "-Wall",           "-Llib",    "-L",    "more",           "a.o",      "-lfoo", "-l",
           "bar", "-Wl,--as-needed", "-pthread", "-DX",   "-static-libgcc", "-Xlinker", "-z",    "-Xlinker",
           "now", "-fuse-ld=lld",    "-g",       "-fPIC", "-rdynamic"}),
      ElementsAre("-Llib", "-L", "more", "-lfoo", "-lbar", "-Wl,--as-needed", "-pthread", "-static-libgcc",
                  "-Xlinker", "-z", "-Xlinker", "now", "-fuse-ld=lld", "-rdynamic"));
  EXPECT_THAT(parse_command_line({"-Llib", "-L", "more"}).search, ElementsAre("lib", "more"));
}

TEST(CommandLine, DebugInformation) {
  for (const char* on : {"-g", "-g3", "-ggdb", "-ggdb3", "-gdwarf-4", "-gline-tables-only"})
    EXPECT_TRUE(parse_command_line({on, "-c", "a.c"}).debug_info) << on;
  for (const char* off : {"-g0", "-gz", "-grecord-command-line", "-O2"})
    EXPECT_FALSE(parse_command_line({off, "-c", "a.c"}).debug_info) << off;
  EXPECT_FALSE(parse_command_line({"-g", "-g0", "-c", "a.c"}).debug_info);
}

TEST(CommandLine, LinkTimeOptimisation) {
  EXPECT_TRUE(parse_command_line({"-flto=thin", "-c", "a.c"}).link_time_optimisation);
  EXPECT_FALSE(parse_command_line({"-flto", "-fno-lto", "-c", "a.c"}).link_time_optimisation);
}

TEST(CommandLine, ResponseFiles) {
  const TempFolder folder = *TempFolder::create();
  const std::string inner = folder.path() / "inner", outer = folder.path() / "outer";
  ASSERT_TRUE(write_file(inner, "-c 'a b.c'"));
  ASSERT_TRUE(write_file(outer, "-DX=\"1 2\"\n@" + inner + " back\\ slash ''\n"));
  EXPECT_THAT(expand_response_files({"-v", "@" + outer, "@/no/such"}),
              ElementsAre("-v", "-DX=1 2", "-c", "a b.c", "back slash", "", "@/no/such"));
  // A file that names itself ends somewhere.
  ASSERT_TRUE(write_file(inner, "@" + inner));
  EXPECT_EQ(expand_response_files({"@" + inner}).size(), 1u);
}

}  // namespace
}  // namespace heddle
