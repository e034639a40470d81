#include "pt/result_choice.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

class ResultChoice : public testing::Test {
 protected:
  void parse(const char* text) {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(text, problem, context_);
    ASSERT_NE(module_, nullptr) << problem.getMessage().str();
  }
  const llvm::BasicBlock& block(llvm::StringRef name) const {
    for (const llvm::BasicBlock& each : *module_->getFunction("f"))
      if (each.getName() == name) return each;
    ADD_FAILURE() << name.str();
    return module_->getFunction("f")->getEntryBlock();
  }
  bool allows(uint64_t result, std::vector<const llvm::BasicBlock*> blocks) const {
    for (const llvm::BasicBlock& each : *module_->getFunction("f"))
      for (const llvm::Instruction& instruction : each)
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
          return path_allows(*call, result, blocks);
    return true;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(ResultChoice, ABranchOnTheResultDecides) {
  parse(R"(declare i32 @try()
    define void @f() {
    entry:
      %r = call i32 @try()
      %c = icmp eq i32 %r, 0
      br i1 %c, label %got, label %busy
    got:
      ret void
    busy:
      ret void
    })");
  EXPECT_TRUE(allows(0, {&block("got")}));
  EXPECT_FALSE(allows(16, {&block("got")}));
  EXPECT_FALSE(allows(0, {&block("busy")}));
  EXPECT_TRUE(allows(16, {&block("busy")}));
  EXPECT_TRUE(allows(0, {}));
}

// As `while (!ready && r != 110) r = wait(); if (r == 110) ...`: only the last branch tells.
TEST_F(ResultChoice, TheResultIsFollowedThroughALoop) {
  parse(R"(declare i32 @wait()
    @ready = global i32 0
    define void @f() {
    entry:
      br label %head
    head:
      %r = phi i32 [ 0, %entry ], [ %w, %body ]
      %v = load i32, ptr @ready
      %none = icmp eq i32 %v, 0
      %more = icmp ne i32 %r, 110
      %both = select i1 %none, i1 %more, i1 false
      br i1 %both, label %body, label %out
    body:
      %w = call i32 @wait()
      br label %head
    out:
      %late = icmp eq i32 %r, 110
      br i1 %late, label %gave_up, label %done
    gave_up:
      ret void
    done:
      ret void
    })");
  EXPECT_TRUE(allows(0, {&block("head"), &block("out"), &block("done")}));
  EXPECT_FALSE(allows(0, {&block("head"), &block("out"), &block("gave_up")}));
  EXPECT_TRUE(allows(110, {&block("head"), &block("out"), &block("gave_up")}));
  EXPECT_FALSE(allows(110, {&block("head"), &block("body")}));
  EXPECT_TRUE(allows(0, {&block("head"), &block("body"), &block("head")}));
}

}  // namespace
}  // namespace heddle
