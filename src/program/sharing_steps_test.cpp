// Verdicts on hand-written IR: steps back to what lies before a place, and who looks there.
#include "program/sharing_fixture.h"

namespace heddle {
namespace {

// A function that only looks at what it is given finds an owner there, who is published. The owner holds %a.
std::string found_by(const std::string& look) {
  return verdicts(R"(define internal ptr @look(ptr %p, i64 %n) {
    )" + look + R"(
    %owner = load ptr, ptr %at
    ret ptr %owner
  }
  define void @f() {
    %a = call ptr @malloc(i64 4)
    %item = call ptr @malloc(i64 32)
    store ptr @global, ptr %item
    %member = getelementptr i8, ptr %item, i64 16
    %owner = call ptr @look(ptr %member, i64 16)
    store ptr %a, ptr %owner
    store i32 1, ptr %a
    ret void
  })");
}

TEST(SharingSteps, LookingAroundAMember) {
  for (const char* look : {"%at = getelementptr i8, ptr %p, i64 -16",
                           "%m = sub i64 0, %n\n %at = getelementptr i8, ptr %p, i64 %m",
                           "%at = getelementptr ptr, ptr %p, i64 %n",
                           "%i = ptrtoint ptr %p to i64\n %m = sub i64 %i, %n\n %at = inttoptr i64 %m to ptr"})
    EXPECT_EQ(found_by(look), "HHSS") << look;
}

TEST(SharingSteps, LookingAroundAMemberByAnotherFunction) {
  EXPECT_EQ(verdicts(R"(define internal ptr @around(ptr %p) {
    %at = getelementptr i8, ptr %p, i64 -16
    %owner = load ptr, ptr %at
    ret ptr %owner
  }
  define internal ptr @look(ptr %p) {
    %owner = call ptr @around(ptr %p)
    ret ptr %owner
  }
  define void @f() {
    %a = call ptr @malloc(i64 4)
    %item = call ptr @malloc(i64 32)
    store ptr @global, ptr %item
    %member = getelementptr i8, ptr %item, i64 16
    %owner = call ptr @look(ptr %member)
    store ptr %a, ptr %owner
    store i32 1, ptr %a
    ret void
  })"),
            "HHSS");
}

// -1 - x.
TEST(SharingSteps, ComplementLeadsBack) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %n) {
    %a = alloca i32
    %s = alloca [4 x ptr]
    store ptr %a, ptr %s
    %second = getelementptr i8, ptr %s, i64 8
    %c = xor i64 %n, -1
    %bytes = shl i64 %c, 3
    %at = getelementptr i8, ptr %second, i64 %bytes
    %x = load ptr, ptr %at
    store ptr %x, ptr @global
    store i32 1, ptr %a
    ret void
  })"),
            "KKSS");
}

// The last word of a block, from its end and a number that may be 0.
TEST(SharingSteps, StepBackBehindAnIndex) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %n) {
    %a = alloca i32
    %s = alloca [4 x ptr]
    %end = getelementptr i8, ptr %s, i64 32
    %some = getelementptr i8, ptr %end, i64 %n
    %last = getelementptr i8, ptr %some, i64 -8
    store ptr %a, ptr %last
    %same = getelementptr i8, ptr %s, i64 24
    %x = load ptr, ptr %same
    store ptr %x, ptr @global
    store i32 1, ptr %a
    ret void
  })"),
            "KKSS");
}

// while (s != begin) *--d = *--s; as -O0 has it, out of an object with a pointer at its beginning.
TEST(SharingSteps, BytesCopiedBackwards) {
  EXPECT_EQ(verdicts(R"(define void @f(i1 %c) {
  entry:
    %a = alloca i32
    %s = alloca ptr
    %d = alloca ptr
    %from = alloca [2 x ptr]
    store ptr %a, ptr %from
    %from_end = getelementptr i8, ptr %from, i64 16
    store ptr %from_end, ptr %s
    %to_end = getelementptr i8, ptr @published, i64 16
    store ptr %to_end, ptr %d
    br label %loop
  loop:
    %s0 = load ptr, ptr %s
    %s1 = getelementptr i8, ptr %s0, i32 -1
    store ptr %s1, ptr %s
    %byte = load i8, ptr %s1
    %d0 = load ptr, ptr %d
    %d1 = getelementptr i8, ptr %d0, i32 -1
    store ptr %d1, ptr %d
    store i8 %byte, ptr %d1
    br i1 %c, label %loop, label %done
  done:
    store i32 1, ptr %a
    ret void
  }
  @published = global [2 x ptr] zeroinitializer
  )"),
            "KKKKKKKKSS");
}

// A block with a header by which all blocks are in a list, and one out of a block that the program divides.
TEST(SharingSteps, WrapperOfMallocThatKeepsSomethingBefore) {
  const auto drops = [](const std::string& block) {
    return Analysed(R"(
  @arena = internal global [64 x i64] zeroinitializer
  define internal noalias ptr @make() {
    )" + block + R"(
    %p = getelementptr i8, ptr %m, i64 16
    ret ptr %p
  }
  define internal void @drop(ptr %p) {
    %h = getelementptr i8, ptr %p, i64 -16
    store ptr null, ptr %h
    ret void
  }
  define void @f() {
    %a = call ptr @make()
    call void @drop(ptr %a)
    ret void
  })")
        .verdicts("drop");
  };
  EXPECT_EQ(drops("%m = call ptr @malloc(i64 64)\n store ptr %m, ptr @global"), "S");
  EXPECT_EQ(drops("%m = getelementptr i8, ptr @arena, i64 0"), "S");
  EXPECT_EQ(drops("%m = call ptr @malloc(i64 64)"), "H");
}

TEST(SharingSteps, WrapperOfMallocThatKeepsAPointerBefore) {
  EXPECT_EQ(verdicts(R"(
  define internal noalias ptr @make(ptr %owner) {
    %m = call ptr @malloc(i64 64)
    store ptr %owner, ptr %m
    %p = getelementptr i8, ptr %m, i64 16
    ret ptr %p
  }
  define void @f() {
    %a = call ptr @malloc(i64 4)
    %b = call ptr @make(ptr @global)
    %h = getelementptr i8, ptr %b, i64 -16
    %owner = load ptr, ptr %h
    store ptr %a, ptr %owner
    store i32 1, ptr %a
    ret void
  })"),
            "HHSS");
}

// The same, where the step back is in the function that called the wrapper.
TEST(SharingSteps, WhatLiesBeforeABlockThatGoesNowhere) {
  const Analysed analysed(R"(
  define internal noalias ptr @make() {
    %m = call ptr @malloc(i64 64)
    store ptr %m, ptr @global
    %p = getelementptr i8, ptr %m, i64 16
    ret ptr %p
  }
  define void @f() {
    %a = call ptr @make()
    store i32 1, ptr %a
    %h = getelementptr i8, ptr %a, i64 -16
    store ptr null, ptr %h
    ret void
  })");
  EXPECT_EQ(analysed.verdicts("f"), "HS");
  EXPECT_TRUE(analysed.result.private_allocations.empty());
}

// As clang calls by a pointer to a member function: its second word says where the function's object begins.
TEST(SharingSteps, PointerToAMemberFunctionOfADerivedClass) {
  EXPECT_EQ(verdicts(R"(
  @members = constant [2 x i64] [i64 ptrtoint (ptr @get to i64), i64 -16]
  define internal ptr @get(ptr %this) {
    %q = load ptr, ptr %this
    ret ptr %q
  }
  define void @f(i1 %is_virtual) {
    %a = call ptr @malloc(i64 4)
    %both = call ptr @malloc(i64 32)
    store ptr @global, ptr %both
    %base = getelementptr i8, ptr %both, i64 16
    %function = load i64, ptr @members
    %at = getelementptr i8, ptr @members, i64 8
    %distance = load i64, ptr %at
    %object = getelementptr i8, ptr %base, i64 %distance
    br i1 %is_virtual, label %by_table, label %plain
  by_table:
    %table = load ptr, ptr %object
    %entry = load ptr, ptr %table
    br label %call
  plain:
    %known = inttoptr i64 %function to ptr
    br label %call
  call:
    %callee = phi ptr [ %entry, %by_table ], [ %known, %plain ]
    %q = call ptr %callee(ptr %object)
    store ptr %a, ptr %q
    store i32 1, ptr %a
    ret void
  })")
                .substr(6),
            "SS");
}

// long back = -n; as -O0 has it.
TEST(SharingSteps, DistanceInALocalVariable) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %n) {
    %a = alloca i32
    %s = alloca [4 x ptr]
    %back = alloca i64
    store ptr %a, ptr %s
    %place = getelementptr i8, ptr %s, i64 24
    %m = sub i64 0, %n
    store i64 %m, ptr %back
    %distance = load i64, ptr %back
    %at = getelementptr i8, ptr %place, i64 %distance
    %x = load ptr, ptr %at
    store ptr %x, ptr @global
    store i32 1, ptr %a
    ret void
  })"),
            "KKKKSS");
}

}  // namespace
}  // namespace heddle
