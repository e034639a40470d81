// Verdicts on memory behind the arguments of calls: what library functions touch, and arguments by value.
#include <gtest/gtest.h>

#include "program/sharing_fixture.h"

namespace heddle {
namespace {

// A letter for each, as verdicts(); in lower case when it may be memory of the library.
std::string argument_verdicts(const std::string& body) {
  const Analysed analysed(body);
  std::string text;
  for (const ArgumentAccess& access : analysed.result.argument_accesses)
    text += (access.foreign ? "skhtcu" : "SKHTCU")[static_cast<size_t>(access.sharing)];
  return text;
}

TEST(SharingArguments, FollowsTheObject) {
  EXPECT_EQ(argument_verdicts(R"(
    define void @f() {
      %own = alloca [8 x i8]
      %heap = call ptr @malloc(i64 8)
      %a = call i64 @strlen(ptr @number)
      %b = call i64 @strlen(ptr @message)
      %c = call i64 @strlen(ptr %own)
      %d = call i64 @strlen(ptr %heap)
      %e = call i64 @strlen(ptr null)
      call void @copy(ptr @number, ptr %own, i64 8)
      ret void
    }
  )"),
            "SCKHUKS");
}

TEST(SharingArguments, MemoryOfTheLibrary) {
  EXPECT_EQ(argument_verdicts(R"(
    define void @f() {
      %value = call ptr @getenv(ptr @message)
      %n = call i64 @strlen(ptr %value)
      ret void
    }
  )"),
            "Cs");
}

// A private object that holds a pointer to shared memory.
TEST(SharingArguments, WhatIsReachable) {
  const std::string blocks = R"(
      %one = alloca ptr
      %two = alloca ptr
      store ptr null, ptr %one
      call void @swap_blocks(ptr %one, ptr %two)
  )";
  EXPECT_EQ(argument_verdicts("define void @f() {" + blocks + "ret void }"), "KK");
  EXPECT_EQ(argument_verdicts("define void @f() {" + blocks + "store ptr @number, ptr %one\nret void }"), "SS");
}

TEST(SharingArguments, ByValue) {
  EXPECT_EQ(argument_verdicts(R"(
    define void @take(ptr byval(i64) %v) { ret void }
    define void @f(ptr %callee) {
      %own = alloca i64
      call void @take(ptr byval(i64) @number)
      call void @take(ptr byval(i64) %own)
      call void %callee(ptr byval(i64) @number)
      ret void
    }
  )"),
            "SKS");
}

}  // namespace
}  // namespace heddle
