#include "program/settled_memory.h"

#include "program/sharing_fixture.h"

namespace heddle {
namespace {

// One letter for each shared read of the threads' function, @run: "s" settled, "-" not. In main `before` stands
// in front of the first thread's start, `behind` behind it; both may call @fill, which writes to @table.
std::string reads(const std::string& run, const std::string& before, const std::string& behind,
                  const std::string& more = "") {
  const Analysed analysed(R"(
  @table = internal global [4 x i64] zeroinitializer
  @other = internal global [4 x i64] zeroinitializer
  @pointer = internal global ptr null
  define internal void @fill() {
    store i64 7, ptr @table
    ret void
  }
  define internal ptr @run(ptr %given) {
    )" + run + R"(
    ret ptr null
  }
  define i32 @main() {
    %thread = alloca i64
    )" + before + R"(
    call i32 @pthread_create(ptr %thread, ptr null, ptr @run, ptr null)
    )" + behind + R"(
    ret i32 0
  })" + more);
  std::string out;
  for (const Access& access : analysed.result.accesses)
    if (access.instruction->getFunction()->getName() == "run" && access.kind == AccessKind::read &&
        access.sharing == Sharing::shared)
      out += access.settled ? "s" : "-";
  return out;
}

constexpr const char* kReadTable = "%x = load i64, ptr @table";

TEST(SettledMemory, TablesThatAreFilledBeforeTheThreads) {
  EXPECT_EQ(reads(kReadTable, "call void @fill()", ""), "s");
  EXPECT_EQ(reads(kReadTable, "", "call void @fill()"), "-");
  EXPECT_EQ(reads(kReadTable, "call void @fill()", "store i64 1, ptr @other"), "s");
  EXPECT_EQ(reads("%x = load i64, ptr @table\n store i64 1, ptr @table", "call void @fill()", ""), "-");
}

// The table is filled before, too.
std::string reads_of_table(const std::string& before, const std::string& behind) {
  return reads(kReadTable, "call void @fill()\n" + before, behind);
}

TEST(SettledMemory, WhatLibrariesWrite) {
  EXPECT_EQ(reads_of_table("call i64 @read(i32 0, ptr @table, i64 8)", ""), "s");
  EXPECT_EQ(reads_of_table("", "call i64 @read(i32 0, ptr @table, i64 8)"), "-");
  EXPECT_EQ(reads_of_table("", "call i64 @strtol(ptr @message, ptr @table, i32 0)"), "-");
  EXPECT_EQ(reads_of_table("", "call void @llvm.memset.p0.i64(ptr @table, i8 0, i64 8, i1 false)"), "-");
  EXPECT_EQ(reads_of_table("call void @setbuf(ptr null, ptr @table)", ""), "-");
}

TEST(SettledMemory, GuardsOfLocalStatics) {
  const std::string use = "%i = call i32 @__cxa_guard_acquire(ptr @other)\n",
                    given = "call void @__cxa_guard_release(ptr @other)";
  EXPECT_EQ(reads("%x = load i64, ptr @other\n" + use + given, "", ""), "-");
  EXPECT_EQ(reads("%x = load i64, ptr @other", use + given, ""), "s");
}

TEST(SettledMemory, WhatUnknownFunctionsMayWrite) {
  EXPECT_EQ(reads_of_table("", "call void @unknown(ptr @other)"), "s");
  EXPECT_EQ(reads_of_table("", "call void @unknown(ptr @table)"), "-");
}

TEST(SettledMemory, BehindPointersThatAreHandedOver) {
  const char* through = "%p = load ptr, ptr @pointer\n %x = load i64, ptr %p";
  const char* made = "%m = call ptr @malloc(i64 8)\n store i64 7, ptr %m\n store ptr %m, ptr @pointer";
  EXPECT_EQ(reads(through, made, ""), "ss");
  EXPECT_EQ(reads(through, "", made), "--");
  EXPECT_EQ(reads(through, made, "%n = call ptr @realloc(ptr %m, i64 16)"), "s-");
  EXPECT_EQ(reads(through, made, "call void @swap_blocks(ptr @pointer, ptr @other)"), "--");
}

// A known function may be behind it.
TEST(SettledMemory, CallsThroughPointers) {
  const char* call = "%f = load ptr, ptr @global\n call void %f(ptr @table)";
  const std::string taken = "\ndefine void @takes() {\n store ptr @read, ptr @global\n ret void\n}";
  EXPECT_EQ(reads(kReadTable, "call void @fill()", call, taken), "-");
  EXPECT_EQ(reads("%x = load i64, ptr @other", "call void @fill()", call, taken), "s");
}

TEST(SettledMemory, NotWhatSomebodyElseMayChange) {
  EXPECT_EQ(reads("%x = load volatile i64, ptr @table", "call void @fill()", ""), "-");
  EXPECT_EQ(reads("%p = call ptr @getenv(ptr @message)\n %x = load i64, ptr %p", "", ""), "-");
}

// A struct that is passed by value is written by the call.
TEST(SettledMemory, CopiesThatAreMadeOfArguments) {
  const std::string callee = R"(
  define internal void @gets(ptr byval(i64) %copy) {
    store ptr %copy, ptr @pointer
    ret void
  })";
  const char* through = "%p = load ptr, ptr @pointer\n %x = load i64, ptr %p";
  EXPECT_EQ(reads(through, "call void @gets(ptr byval(i64) @other)", "", callee), "ss");
  EXPECT_EQ(reads(through, "", "call void @gets(ptr byval(i64) @other)", callee), "--");
}

TEST(SettledMemory, EarlyReadsOfMemoryThatIsWrittenLater) {
  const Analysed analysed(R"(define i32 @main() {
    %a = load i64, ptr @number
    call void @unknown(ptr null)
    %b = load i64, ptr @number
    store i64 1, ptr @number
    ret i32 0
  })");
  ASSERT_EQ(analysed.result.accesses.size(), 3u);
  EXPECT_TRUE(analysed.result.accesses[0].settled);
  EXPECT_FALSE(analysed.result.accesses[1].settled);
}

}  // namespace
}  // namespace heddle
