// Verdicts on hand-written IR: calls inside the program and through pointers, callbacks.
#include "program/sharing_fixture.h"

namespace heddle {
namespace {

TEST(SharingCalls, HelperFunctionsThatDoNotLeak) {
  EXPECT_EQ(verdicts(R"(
  define internal void @fill(ptr %p) { store i32 1, ptr %p  ret void }
  define internal ptr @same(ptr %p) { ret ptr %p }
  define void @f() {
    %a = call ptr @malloc(i64 4)
    call void @fill(ptr %a)
    %b = call ptr @same(ptr %a)
    %c = load i32, ptr %b
    ret void
  })"),
            "HH");
}

TEST(SharingCalls, HelperThatLeaks) {
  EXPECT_EQ(verdicts(R"(
  define internal void @push(ptr %p) { store ptr %p, ptr @global  ret void }
  define void @f() {
    %a = alloca i32
    store i32 1, ptr %a
    call void @push(ptr %a)
    ret void
  })"),
            "SS");
}

TEST(SharingCalls, ByValueCopiesTheObject) {
  EXPECT_EQ(verdicts(R"(
  define internal void @g(ptr byval([4 x ptr]) %p) {
    %q = load ptr, ptr %p
    store ptr %q, ptr @global
    store ptr null, ptr %p
    ret void
  }
  define void @f() {
    %a = alloca i32
    %s = alloca [4 x ptr]
    store ptr %a, ptr %s
    store i32 1, ptr %a
    call void @g(ptr byval([4 x ptr]) %s)
    ret void
  })"),
            "KSKKS");
}

TEST(SharingCalls, IndirectCallsFollowTheClass) {
  const Analysed analysed(R"(
  define internal void @quiet(ptr %p) { store i32 1, ptr %p  ret void }
  define internal void @leaky(ptr %p) { store ptr %p, ptr @global  ret void }
  define void @f(i1 %x) {
    %a = call ptr @malloc(i64 4)
    %q = select i1 %x, ptr @quiet, ptr null
    call void %q(ptr %a)
    store i32 1, ptr %a
    ret void
  }
  define void @g(i1 %x) {
    %a = call ptr @malloc(i64 4)
    %q = select i1 %x, ptr @leaky, ptr null
    call void %q(ptr %a)
    store i32 1, ptr %a
    ret void
  })");
  EXPECT_EQ(analysed.verdicts("f"), "H");
  EXPECT_EQ(analysed.verdicts("quiet"), "H");
  EXPECT_EQ(analysed.verdicts("g"), "S");
}

TEST(SharingCalls, IndirectCallsOfLibraryFunctions) {
  EXPECT_EQ(verdicts(R"(
  @operations = constant [2 x ptr] [ptr @malloc, ptr @setbuf]
  define void @f(i1 %x, i64 %i) {
    %a = alloca i32
    %b = alloca i32
    %g = select i1 %x, ptr @strlen, ptr null
    %n = call i64 %g(ptr %a)
    store i32 1, ptr %a
    %h = select i1 %x, ptr @unknown, ptr null
    call void %h(ptr %b)
    store i32 1, ptr %b
    ret void
  })"),
            "KS");
}

TEST(SharingCalls, CallThroughForeignPointer) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %g = call ptr @unknown_pointer()
    %r = call ptr %g(ptr %a)
    store i32 1, ptr %a
    store i32 1, ptr %r
    ret void
  })"),
            "SS");
}

TEST(SharingCalls, CallbacksGetTheOtherArguments) {
  EXPECT_EQ(verdicts(R"(
  define internal i32 @compare(ptr %a, ptr %b) {
    %x = load i32, ptr %a
    %y = load i32, ptr %b
    ret i32 0
  }
  define internal void @visit(ptr %a) { store i32 1, ptr %a  ret void }
  define void @f() {
    %a = alloca [4 x i32]
    call void @qsort(ptr %a, i64 4, i64 4, ptr @compare)
    store i32 1, ptr %a
    call void @walk(ptr null, ptr @visit)
    ret void
  })"),
            "KKSK");
}

TEST(SharingCalls, ForeignCodeCallsWhatItKnows) {
  const std::string program = R"(
  define void @handler(ptr %p) { store i32 1, ptr %p  ret void }
  define void @visible(ptr %p) { store i32 1, ptr %p  ret void }
  define internal void @hidden(ptr %p) { store i32 1, ptr %p  ret void }
  define void @f() {
    %a = alloca i32
    %b = alloca i32
    call void @unknown(ptr @handler)
    call void @visible(ptr %a)
    call void @hidden(ptr %b)
    ret void
  })";
  EXPECT_EQ(verdicts(program), "SKK");
  EXPECT_EQ(verdicts(program, {.foreign_callers = true}), "SSK");
}

TEST(SharingCalls, MainGetsForeignMemory) {
  EXPECT_EQ(verdicts(R"(define i32 @main(i32 %n, ptr %v) {
    %p = load ptr, ptr %v
    %c = load i8, ptr %p
    ret i32 0
  })"),
            "SS");
}

TEST(SharingCalls, AliasesAndIfuncs) {
  EXPECT_EQ(verdicts(R"(
  @other = alias ptr, ptr @global
  @alias = alias void (ptr), ptr @push
  @chosen = ifunc void (ptr), ptr @resolve
  define void @push(ptr %p) { store ptr %p, ptr @other  ret void }
  define ptr @resolve() { ret ptr @push }
  define void @f() {
    %a = alloca i32
    %b = alloca i32
    store i32 1, ptr %a
    store i32 1, ptr %b
    call void @alias(ptr %a)
    call void @chosen(ptr %b)
    ret void
  })"),
            "SSS");
}

TEST(SharingCalls, VariadicArguments) {
  EXPECT_EQ(verdicts(R"(
  %list = type {i32, i32, ptr, ptr}
  define internal void @g(i32 %n, ...) {
    %l = alloca %list
    call void @llvm.va_start.p0(ptr %l)
    %f = getelementptr %list, ptr %l, i64 0, i32 2
    %area = load ptr, ptr %f
    %p = load ptr, ptr %area
    store ptr %p, ptr @global
    ret void
  }
  define void @f() {
    %a = alloca i32
    store i32 1, ptr %a
    call void (i32, ...) @g(i32 1, ptr %a)
    ret void
  })"),
            "KKSS");
}

TEST(SharingCalls, VaArgInstruction) {
  EXPECT_EQ(verdicts(R"(
  define internal void @g(i32 %n, ...) {
    %l = alloca ptr
    call void @llvm.va_start.p0(ptr %l)
    %p = va_arg ptr %l, ptr
    %q = load ptr, ptr %p
    store ptr %q, ptr @global
    ret void
  }
  define void @f() {
    %a = call ptr @malloc(i64 8)
    %b = call ptr @malloc(i64 8)
    store ptr %b, ptr %a
    store i32 1, ptr %b
    call void (i32, ...) @g(i32 1, ptr %a)
    ret void
  })"),
            "HSHS");
}

// Functions of one table are called in each other's place, whatever they give and take.
TEST(SharingCalls, FunctionsInATableWithOtherResults) {
  for (const char* table : {"[ptr @get, ptr @end]", "[ptr @end, ptr @get]"})
    EXPECT_EQ(verdicts(std::string("@table = constant [2 x ptr] ") + table + R"(
  define internal ptr @get(ptr %p) {
    %q = load ptr, ptr %p
    ret ptr %q
  }
  define internal void @end(ptr %p) { ret void }
  define void @f(ptr %call) {
    %a = call ptr @malloc(i64 4)
    %s = call ptr @malloc(i64 8)
    store ptr @global, ptr %s
    %call.0 = load ptr, ptr @table
    call void %call.0(ptr %s)
    %at = getelementptr i8, ptr @table, i64 8
    %call.1 = load ptr, ptr %at
    %q = call ptr %call.1(ptr %s)
    store ptr %a, ptr %q
    store i32 1, ptr %a
    ret void
  })"),
              "HHCCSS")
        << table;
}

TEST(SharingCalls, FunctionsInATableWithOtherParameters) {
  for (const char* table : {"[ptr @take, ptr @count]", "[ptr @count, ptr @take]"})
    EXPECT_EQ(verdicts(std::string("@table = constant [2 x ptr] ") + table + R"(
  define internal void @take(ptr %p) {
    %a = call ptr @malloc(i64 4)
    store ptr %a, ptr %p
    store i32 1, ptr %a
    ret void
  }
  define internal void @count(i32 %n) { ret void }
  define void @f(ptr %call) {
    %call.0 = load ptr, ptr @table
    call void %call.0(ptr @global)
    ret void
  })"),
              "SSC")
        << table;
}

}  // namespace
}  // namespace heddle
