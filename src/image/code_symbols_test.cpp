// This test program looks itself up.
#include "image/code_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "image/elf_file.h"

extern "C" const char __ehdr_start;

namespace heddle {

constexpr int kInlinedLine = __LINE__ + 2;
inline __attribute__((always_inline)) void* inlined_place() {
  void* here = nullptr;
  __asm__ volatile("lea (%%rip), %0" : "=r"(here));
  return here;
}

__attribute__((noinline)) void* place_in_function() {
  return inlined_place();
}

int global_for_symbols[4] = {1};
thread_local int local_for_symbols = 2;

namespace {

uint64_t in_file(const void* at) {
  return reinterpret_cast<uint64_t>(at) - reinterpret_cast<uint64_t>(&__ehdr_start);
}

TEST(CodeSymbols, InlinedFramesHaveTheirLines) {
  const auto symbols = CodeSymbols::open(executable_path());
  ASSERT_TRUE(symbols);
  const uint64_t at = in_file(place_in_function()) - 1;
  EXPECT_EQ(symbols->symbol_at(at), "_ZN6heddle17place_in_functionEv");
  const std::vector<CodeFrame> frames = symbols->frames_at(at);
  ASSERT_EQ(frames.size(), 2u);
  // Line tables alone (-gline-tables-only) have the names without what encloses them.
  EXPECT_THAT(frames[0].function, testing::AnyOf("heddle::inlined_place()", "inlined_place"));
  EXPECT_NEAR(frames[0].line, kInlinedLine, 2);
  EXPECT_TRUE(frames[0].file.ends_with("src/image/code_symbols_test.cpp")) << frames[0].file;
  EXPECT_THAT(frames[1].function, testing::AnyOf("heddle::place_in_function()", "place_in_function"));
  EXPECT_GT(frames[1].line, frames[0].line);
}

TEST(CodeSymbols, OutsideOfCodeThereIsNothing) {
  const auto symbols = CodeSymbols::open(executable_path());
  ASSERT_TRUE(symbols);
  for (const uint64_t at : {uint64_t{0}, in_file(&global_for_symbols) + (1 << 20), ~uint64_t{0}}) {
    EXPECT_EQ(symbols->symbol_at(at), "");
    EXPECT_TRUE(symbols->frames_at(at).empty());
  }
}

TEST(CodeSymbols, NamesAreDemangled) {
  EXPECT_EQ(demangled("_ZN6heddle9demangledE"), "heddle::demangled");
  EXPECT_EQ(demangled("main"), "main");
  EXPECT_EQ(demangled("i"), "i");
  EXPECT_EQ(demangled_type("i"), "int");
  EXPECT_EQ(demangled_type("no type!"), "no type!");
}

TEST(ElfFile, KnowsVariables) {
  const auto elf = ElfFile::open(executable_path());
  ASSERT_TRUE(elf);
  bool global = false, local = false;
  for (const ElfSymbol& symbol : elf->variables())
    global |= symbol.address == in_file(&global_for_symbols) &&
              symbol.size >= sizeof global_for_symbols;  // sanitizers add to it
  // The thread pointer points to itself.
  uint64_t pointer = 0;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  for (const ElfSymbol& symbol : elf->thread_local_variables())
    local |=
        pointer - elf->thread_local_size() + symbol.address == reinterpret_cast<uint64_t>(&local_for_symbols);
  EXPECT_TRUE(global);
  EXPECT_TRUE(local);
}

}  // namespace
}  // namespace heddle
