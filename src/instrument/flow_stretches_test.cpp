#include "instrument/flow_stretches.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

using First = FlowStretchEnds::First;

class FlowStretches : public testing::Test {
 protected:
  // Blocks that begin with "access" or "call" have one.
  FlowStretchEnds ends_of(const char* body) {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(std::string("define i32 @f(i1 %c, i32 %n) {\n") + body + "}\n", error,
                                        context_);
    EXPECT_NE(module_, nullptr) << error.getMessage().str();
    FlowStretchEnds ends(function());
    for (llvm::BasicBlock& block : function()) {
      if (block.getName().starts_with("access")) ends.add(block, First::access);
      if (block.getName().starts_with("call")) ends.add(block, First::call);
    }
    return ends;
  }

  llvm::Function& function() { return *module_->getFunction("f"); }
  llvm::BasicBlock& block(llvm::StringRef name) {
    for (llvm::BasicBlock& one : function())
      if (one.getName() == name) return one;
    ADD_FAILURE() << "no block " << name.str();
    return function().front();
  }
  // Where the stretch ends that is left open, as the names of the blocks behind.
  std::vector<std::string> split(FlowStretchEnds& ends) {
    std::vector<std::string> out;
    for (const llvm::BasicBlock* one : ends.split()) out.push_back(one->getSingleSuccessor()->getName().str());
    EXPECT_FALSE(llvm::verifyFunction(function(), &llvm::errs()));
    return out;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(FlowStretches, StaysOpenInALoopAndEndsWhereThatIsLeft) {
  FlowStretchEnds ends = ends_of(R"(
entry: br label %access
access:
  %i = phi i32 [ 0, %entry ], [ %j, %access ]
  %j = add i32 %i, 1
  br i1 %c, label %access, label %out
out:
  %k = phi i32 [ %j, %access ]
  ret i32 %k
)");
  EXPECT_TRUE(ends.leave_open(block("access")));
  EXPECT_EQ(split(ends), std::vector<std::string>{"out"});
}

TEST_F(FlowStretches, EndsBeforeCallsAndReturns) {
  FlowStretchEnds ends = ends_of(R"(
access: br i1 %c, label %call, label %out
call: br label %out
out: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
  EXPECT_TRUE(split(ends).empty());
}

TEST_F(FlowStretches, EndsBeforeALoopWithoutAccesses) {
  FlowStretchEnds ends = ends_of(R"(
access: br label %spin
spin: br i1 %c, label %spin, label %access2
access2: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
}

TEST_F(FlowStretches, GoesThroughBlocksWithNothing) {
  FlowStretchEnds ends = ends_of(R"(
access: br i1 %c, label %one, label %call
one: switch i32 %n, label %access2 [ i32 0, label %out
                                     i32 1, label %out ]
access2: br label %out
call: br label %out
out:
  %k = phi i32 [ 1, %one ], [ 1, %one ], [ 2, %access2 ], [ 3, %call ]
  ret i32 %k
)");
  EXPECT_TRUE(ends.leave_open(block("access")));
  EXPECT_FALSE(ends.leave_open(block("access2")));
  std::vector<std::string> behind = split(ends);
  std::sort(behind.begin(), behind.end());
  EXPECT_EQ(behind, (std::vector<std::string>{"call", "out"}));
}

}  // namespace
}  // namespace heddle
