#include "program/calls.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <memory>

namespace heddle {
namespace {

class Calls : public testing::Test {
 protected:
  void SetUp() override {
    const Result<void> added = table_.add(
        "malloc : alloc(arg0)\n"
        "pthread_mutex_lock : sync mutex_lock(0)\n"
        "strlen : reads(0, string) pure\n"
        "_ZNSo* : updates(0, object) returns(0)\n"
        "syscall:202 : sync futex(1)\n"
        "syscall:318 : writes(1, ret) input\n",
        "test");
    ASSERT_TRUE(added) << added.error().text();
  }

  // Classes of all calls of @test, in order.
  std::vector<CallInfo> classify(const std::string& ir) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(ir, diagnostic, context_);
    EXPECT_NE(module_, nullptr) << diagnostic.getMessage().str() << " at line " << diagnostic.getLineNo();
    std::vector<CallInfo> found;
    if (module_ == nullptr) return found;
    for (const llvm::Instruction& instruction : llvm::instructions(*module_->getFunction("test"))) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        found.push_back(classify_call(*call, table_));
    }
    return found;
  }

  CallInfo classify_one(const std::string& declarations, const std::string& body) {
    const std::vector<CallInfo> found =
        classify(declarations + "\ndefine void @test(ptr %p, i64 %n) {\n" + body + "\nret void\n}\n");
    EXPECT_EQ(found.size(), 1u);
    return found.size() == 1 ? found[0] : CallInfo{};
  }

  EffectsTable table_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(Calls, ExternalFunctionsByTheirEffects) {
  const CallInfo malloc = classify_one("declare ptr @malloc(i64)", "%r = call ptr @malloc(i64 8)");
  EXPECT_EQ(malloc.cls, CallClass::allocation);
  EXPECT_EQ(malloc.callee->getName(), "malloc");
  ASSERT_NE(malloc.effects, nullptr);
  EXPECT_EQ(malloc.effects->name, "malloc");

  const CallInfo lock =
      classify_one("declare i32 @pthread_mutex_lock(ptr)", "%r = call i32 @pthread_mutex_lock(ptr %p)");
  EXPECT_EQ(lock.cls, CallClass::synchronisation);
  EXPECT_EQ(lock.effects->sync, HEDDLE_SYNC_mutex_lock);

  const CallInfo strlen = classify_one("declare i64 @strlen(ptr)", "%r = call i64 @strlen(ptr %p)");
  EXPECT_EQ(strlen.cls, CallClass::known_external);
  EXPECT_TRUE(strlen.effects->pure);

  const CallInfo put =
      classify_one("declare ptr @_ZNSo3putEc(ptr, i8)", "%r = call ptr @_ZNSo3putEc(ptr %p, i8 0)");
  EXPECT_EQ(put.cls, CallClass::known_external);
  EXPECT_EQ(put.effects->name, "_ZNSo*");

  const CallInfo unknown = classify_one("declare void @mystery()", "call void @mystery()");
  EXPECT_EQ(unknown.cls, CallClass::unknown_external);
  EXPECT_EQ(unknown.callee->getName(), "mystery");
  EXPECT_EQ(unknown.effects, nullptr);
}

TEST_F(Calls, DefinedFunctionsAreInsideWhateverTheirName) {
  const CallInfo info =
      classify_one("define ptr @malloc(i64 %n) { ret ptr null }", "%r = call ptr @malloc(i64 8)");
  EXPECT_EQ(info.cls, CallClass::inside);
  EXPECT_EQ(info.effects, nullptr);
}

TEST_F(Calls, CopiesForTheOptimiserAreOutside) {
  const CallInfo info = classify_one("define available_externally i64 @strlen(ptr %s) { ret i64 0 }",
                                     "%r = call i64 @strlen(ptr %p)");
  EXPECT_EQ(info.cls, CallClass::known_external);
}

TEST_F(Calls, AliasesAndCastsAreLookedThrough) {
  const CallInfo alias = classify_one(
      "define void @worker() { ret void }\n"
      "@worker_alias = alias void (), ptr @worker",
      "call void @worker_alias()");
  EXPECT_EQ(alias.cls, CallClass::inside);
  EXPECT_EQ(alias.callee->getName(), "worker");

  const CallInfo cast = classify_one("declare i64 @strlen(ptr)",
                                     "%r = call i64 addrspacecast (ptr addrspace(1) addrspacecast (ptr @strlen "
                                     "to ptr addrspace(1)) to ptr)(ptr %p)");
  EXPECT_EQ(cast.cls, CallClass::known_external);
}

TEST_F(Calls, ManglingEscapeIsDropped) {
  const CallInfo info =
      classify_one("declare i64 @\"\\01strlen\"(ptr)", "%r = call i64 @\"\\01strlen\"(ptr %p)");
  EXPECT_EQ(info.cls, CallClass::known_external);
}

TEST_F(Calls, PointersIntrinsicsAndAssembly) {
  EXPECT_EQ(classify_one("", "call void %p()").cls, CallClass::indirect);
  EXPECT_EQ(classify_one("", "call void %p()").callee, nullptr);
  EXPECT_EQ(classify_one("", "call void asm sideeffect \"nop\", \"\"()").cls, CallClass::inline_assembly);
  const CallInfo memcpy = classify_one("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
                                       "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 8, i1 false)");
  EXPECT_EQ(memcpy.cls, CallClass::intrinsic);
  EXPECT_EQ(classify_one("@resolved = ifunc void (), ptr @resolver\ndefine ptr @resolver() { ret ptr null }",
                         "call void @resolved()")
                .cls,
            CallClass::indirect);
}

TEST_F(Calls, SystemCallsByNumber) {
  const std::string declaration = "declare i64 @syscall(i64, ...)";
  const CallInfo futex =
      classify_one(declaration, "%r = call i64 (i64, ...) @syscall(i64 202, ptr %p, i32 1, i32 1)");
  EXPECT_EQ(futex.cls, CallClass::synchronisation);
  EXPECT_EQ(futex.effects->sync, HEDDLE_SYNC_futex);

  const CallInfo random =
      classify_one(declaration, "%r = call i64 (i64, ...) @syscall(i64 318, ptr %p, i64 8, i32 0)");
  EXPECT_EQ(random.cls, CallClass::known_external);

  for (const char* number : {"%n", "9999", "-1"}) {
    const CallInfo info =
        classify_one(declaration, std::string("%r = call i64 (i64, ...) @syscall(i64 ") + number + ", ptr %p)");
    EXPECT_EQ(info.cls, CallClass::unknown_external) << number;
  }
}

TEST_F(Calls, FewerArgumentsThanTheEffectsNeed) {
  EXPECT_EQ(classify_one("declare i64 @strlen(...)", "%r = call i64 (...) @strlen()").cls,
            CallClass::unknown_external);
  EXPECT_EQ(classify_one("declare i64 @strlen(...)", "%r = call i64 (...) @strlen(ptr %p)").cls,
            CallClass::known_external);
  EXPECT_EQ(classify_one("declare i64 @syscall(...)", "%r = call i64 (...) @syscall()").cls,
            CallClass::unknown_external);
  EXPECT_EQ(classify_one("declare i64 @syscall(...)", "%r = call i64 (...) @syscall(i64 202)").cls,
            CallClass::unknown_external);
}

TEST_F(Calls, InvokesCountToo) {
  const std::vector<CallInfo> found = classify(R"(
    declare ptr @malloc(i64)
    declare i32 @__gxx_personality_v0(...)
    define void @test() personality ptr @__gxx_personality_v0 {
      %r = invoke ptr @malloc(i64 8) to label %good unwind label %bad
    good:
      ret void
    bad:
      %l = landingpad { ptr, i32 } cleanup
      resume { ptr, i32 } %l
    })");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cls, CallClass::allocation);
}

TEST(CallClass, EveryClassHasAName) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kCallClasses; ++i) names.push_back(call_class_name(static_cast<CallClass>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(names.size(), 8u);
}

}  // namespace
}  // namespace heddle
