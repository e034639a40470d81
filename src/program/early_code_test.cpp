#include "program/early_code.h"

#include <llvm/IR/InstIterator.h>

#include "program/sharing_fixture.h"

namespace heddle {
namespace {

constexpr const char* kStart = "call i32 @pthread_create(ptr @number, ptr null, ptr @run, ptr null)";
constexpr const char* kRun = "define ptr @run(ptr %a) {\n %in_run = add i64 1, 1\n ret ptr null\n}\n";

// The names of the early values, in the order they stand; "START" in the code starts a thread.
std::string early(std::string body, bool foreign_callers = false) {
  for (size_t at; (at = body.find("START")) != std::string::npos;) body.replace(at, 5, kStart);
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(kDeclarations + std::string(kRun) + body, diagnostic, context);
  if (module == nullptr) return diagnostic.getMessage().str();
  EffectsTable effects;
  EXPECT_TRUE(effects.add(kTable, "test table"));
  const EarlyCode code(*module, effects, foreign_callers);
  std::string names;
  for (const llvm::Function& function : *module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (instruction.hasName() && code.early(instruction))
        names += (names.empty() ? "" : " ") + instruction.getName().str();
  return names;
}

TEST(EarlyCode, MainUpToTheFirstThread) {
  EXPECT_EQ(early(R"(define i32 @main() {
    %a = add i64 1, 1
    START
    %b = add i64 1, 1
    br label %next
  next:
    %c = add i64 1, 1
    ret i32 0
  })"),
            "a");
}

TEST(EarlyCode, NotWhatALoopComesBackTo) {
  EXPECT_EQ(early(R"(define i32 @main() {
    %a = add i64 1, 1
    br label %loop
  loop:
    %b = add i64 1, 1
    START
    br label %loop
  })"),
            "a");
}

TEST(EarlyCode, WaysOnWhichNoThreadStarts) {
  EXPECT_EQ(early(R"(define i32 @main(i1 %x) {
    br i1 %x, label %with, label %without
  with:
    START
    br label %both
  without:
    %a = add i64 1, 1
    br label %both
  both:
    %b = add i64 1, 1
    ret i32 0
  })"),
            "a");
}

TEST(EarlyCode, FunctionsThatAreCalledBeforeOnly) {
  EXPECT_EQ(early(R"(define internal void @before() {
    %a = add i64 1, 1
    ret void
  }
  define internal void @both() {
    %b = add i64 1, 1
    call void @deeper()
    ret void
  }
  define internal void @deeper() {
    %c = add i64 1, 1
    ret void
  }
  define internal void @starts() {
    %d = add i64 1, 1
    START
    %e = add i64 1, 1
    ret void
  }
  define i32 @main() {
    call void @before()
    call void @both()
    call void @starts()
    %f = add i64 1, 1
    call void @both()
    ret i32 0
  })"),
            "a d");
}

TEST(EarlyCode, FunctionsWhoseAddressIsTakenRunAtAnyTime) {
  EXPECT_EQ(early(R"(define internal void @handler() {
    %a = add i64 1, 1
    call void @called()
    ret void
  }
  define internal void @called() {
    %b = add i64 1, 1
    ret void
  }
  define i32 @main() {
    store ptr @handler, ptr @global
    call void @called()
    %c = add i64 1, 1
    ret i32 0
  })"),
            "c");
}

TEST(EarlyCode, CallsOfUnknownFunctionsMayStartThreads) {
  EXPECT_EQ(early("define i32 @main() {\n call void @unknown(ptr null)\n %a = add i64 1, 1\n ret i32 0\n}"),
            "");
  EXPECT_EQ(early("define i32 @main() {\n call i64 @strlen(ptr @message)\n %a = add i64 1, 1\n ret i32 0\n}"),
            "a");
}

constexpr const char* kCallbacks = R"(
  define i32 @main() {
    store ptr @given, ptr @global
    %a = add i64 1, 1
    %f = load ptr, ptr @global
    call void %f()
    %b = add i64 1, 1
    ret i32 0
  })";

TEST(EarlyCode, CallbacksThatStartThreads) {
  EXPECT_EQ(early("define internal void @given() {\n ret void\n}" + std::string(kCallbacks)), "a f b");
  EXPECT_EQ(early("define internal void @given() {\n START\n ret void\n}" + std::string(kCallbacks)), "a f");
  EXPECT_EQ(early("declare void @given()" + std::string(kCallbacks)), "a f");
}

TEST(EarlyCode, ConstructorsOfTheProgram) {
  const std::string module = R"(
  @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @made, ptr null }]
  define i32 @main() {
    %b = add i64 1, 1
    ret i32 0
  }
  define internal void @made() {
    %a = add i64 1, 1
    )";
  EXPECT_EQ(early(module + "ret void\n}"), "b a");
  EXPECT_EQ(early(module + "START\n ret void\n}"), "");
}

TEST(EarlyCode, CallsThatReturnTwice) {
  EXPECT_EQ(early(R"(declare i32 @setjmp(ptr) returns_twice
  define i32 @main() {
    %a = add i64 1, 1
    call i32 @setjmp(ptr @number) returns_twice
    %b = add i64 1, 1
    ret i32 0
  })"),
            "a");
}

TEST(EarlyCode, FunctionsThatForeignCodeMayCall) {
  const std::string module =
      "define void @open() {\n %a = add i64 1, 1\n ret void\n}\n"
      "define i32 @main() {\n %b = add i64 1, 1\n call void @open()\n ret i32 0\n}";
  EXPECT_EQ(early(module), "a b");
  EXPECT_EQ(early(module, true), "b");
}

}  // namespace
}  // namespace heddle
