#include "program/promises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace heddle {
namespace {

using testing::HasSubstr;

// The module as text, without the promises on what follows from @input and decides branches.
std::string without_promises(const std::string& ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (module == nullptr) return diagnostic.getMessage().str();
  const auto logged = [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && call->getCalledFunction()->getName() == "input";
  };
  const auto outside = [](const llvm::Function& function) { return function.getName() == "out"; };
  drop_promises(*module, KnownValues(*module, {.logged = logged, .entered_silently = outside}));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, nullptr);
  return text;
}

TEST(Promises, AreDroppedOnlyWhereKnownBranchesNeedTheValue) {
  const std::string text = without_promises(R"(
  declare i32 @input()
  declare i32 @llvm.ctlz.i32(i32, i1)
  declare void @use(i32)
  define internal range(i32 0, 9) i32 @f(i32 range(i32 0, 5) %x) {
    %y = mul nuw nsw i32 %x, 3
    ret i32 %y
  }
  define void @out() {
    %slot = alloca i32
    %a = call range(i32 1, 4) i32 @input()
    store i32 %a, ptr %slot
    %l = load i32, ptr %slot, !range !0
    %b = add nsw i32 %l, 1
    %z = call i32 @llvm.ctlz.i32(i32 %b, i1 true)
    %other = add nsw i32 %a, 7
    %unused = call i32 @llvm.ctlz.i32(i32 %a, i1 true)
    call void @use(i32 %other)
    %r = call range(i32 0, 9) i32 @f(i32 range(i32 0, 5) %z)
    %c = icmp eq i32 %r, 4
    br i1 %c, label %yes, label %no
  yes:
    ret void
  no:
    ret void
  }
  !0 = !{i32 0, i32 100})");
  for (const char* line : {"define internal i32 @f(i32 %x)", "%y = mul i32 %x, 3", "%a = call i32 @input()",
                           "%l = load i32, ptr %slot, align 4\n", "%b = add i32 %l, 1",
                           "%z = call i32 @llvm.ctlz.i32(i32 %b, i1 false)", "%r = call i32 @f(i32 %z)",
                           "%other = add nsw i32 %a, 7", "%unused = call i32 @llvm.ctlz.i32(i32 %a, i1 true)"})
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace heddle
