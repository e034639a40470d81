#include "program/captures.h"

#include <llvm/IR/InstIterator.h>

#include "program/sharing_fixture.h"

namespace heddle {
namespace {

// Is %object, an alloca of @f, captured by this code?
bool captured(const std::string& code, const std::string& more = "") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      kDeclarations + more + "define void @f() {\n %object = alloca i64\n" + code + "\n ret void\n}",
      diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str();
  EffectsTable effects;
  EXPECT_TRUE(effects.add(kTable, "test table"));
  return Captures(effects).captured(module->getFunction("f")->getEntryBlock().front());
}

TEST(Captures, KnownFunctionsThatKeepNothing) {
  EXPECT_FALSE(captured("call i64 @read(i32 0, ptr %object, i64 8)"));
  EXPECT_FALSE(captured("call i64 @strlen(ptr %object)"));
  EXPECT_FALSE(captured("call void @free(ptr %object)"));
  EXPECT_TRUE(captured("call void @unknown(ptr %object)"));
  EXPECT_TRUE(captured("call void @setbuf(ptr null, ptr %object)"));
  EXPECT_TRUE(captured("call void (i32, ...) @register_all(i32 1, ptr %object)"));
}

TEST(Captures, PointersThatComeBack) {
  EXPECT_TRUE(captured("%p = call ptr @strchr(ptr %object, i32 1)"));
  EXPECT_TRUE(captured("%p = call ptr @realloc(ptr %object, i64 1)"));
  EXPECT_TRUE(captured("call i64 @strtol(ptr %object, ptr @global, i32 0)"));
  EXPECT_FALSE(captured("call i64 @strtol(ptr @message, ptr %object, i32 0)"));
}

TEST(Captures, OtherThreadsCallbacksAndLinks) {
  EXPECT_TRUE(captured("call i32 @pthread_create(ptr @number, ptr null, ptr null, ptr %object)"));
  EXPECT_TRUE(captured("call void @qsort(ptr %object, i64 1, i64 8, ptr null)"));
  EXPECT_TRUE(captured("call void @swap_blocks(ptr %object, ptr @number)"));
  EXPECT_TRUE(captured("store ptr %object, ptr @global"));
}

TEST(Captures, FunctionsOfTheProgram) {
  const std::string functions = R"(
  define internal void @reads(ptr %p) {
    call i64 @strlen(ptr %p)
    ret void
  }
  define internal void @stores(ptr %p) {
    store ptr %p, ptr @global
    ret void
  }
  define internal void @passes(ptr %p, ptr %q) {
    call void @reads(ptr %p)
    call void @stores(ptr %q)
    ret void
  }
  define internal void @again(ptr %p) {
    call void @again(ptr %p)
    ret void
  }
  define internal ptr @returns(ptr %p) {
    ret ptr %p
  }
)";
  EXPECT_FALSE(captured("call void @reads(ptr %object)", functions));
  EXPECT_TRUE(captured("call void @stores(ptr %object)", functions));
  EXPECT_FALSE(captured("call void @passes(ptr %object, ptr null)", functions));
  EXPECT_TRUE(captured("call void @passes(ptr null, ptr %object)", functions));
  EXPECT_TRUE(captured("call void @again(ptr %object)", functions));
  EXPECT_TRUE(captured("%p = call ptr @returns(ptr %object)", functions));
}

}  // namespace
}  // namespace heddle
