#include "instrument/flow_stretches.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

using First = FlowStretches::First;

class FlowStretchesTest : public testing::Test {
 protected:
  // Blocks that begin with "access" or "call" have one.
  FlowStretches ends_of(const char* body) {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(std::string("define i32 @f(i1 %c, i32 %n) {\n") + body + "}\n", error,
                                        context_);
    EXPECT_NE(module_, nullptr) << error.getMessage().str();
    FlowStretches ends(function());
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
  using Names = std::vector<std::string>;
  // Where stretches that are left open begin and end, as the names of the blocks behind.
  std::pair<Names, Names> split(FlowStretches& stretches) {
    const auto names = [](const std::vector<llvm::BasicBlock*>& blocks) {
      Names out;
      for (const llvm::BasicBlock* one : blocks) out.push_back(one->getSingleSuccessor()->getName().str());
      std::sort(out.begin(), out.end());
      return out;
    };
    const FlowStretches::Edges edges = stretches.split();
    EXPECT_FALSE(llvm::verifyFunction(function(), &llvm::errs()));
    return {names(edges.begins), names(edges.ends)};
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(FlowStretchesTest, BeginsBeforeALoopAndEndsBehindIt) {
  FlowStretches ends = ends_of(R"(
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
  EXPECT_TRUE(ends.is_open_at(block("access")));
  EXPECT_EQ(split(ends), std::pair(Names{"access"}, Names{"out"}));
}

TEST_F(FlowStretchesTest, EndsBeforeCallsAndReturns) {
  FlowStretches ends = ends_of(R"(
access: br i1 %c, label %call, label %out
call: br label %out
out: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
  EXPECT_FALSE(ends.is_open_at(block("access")));
  EXPECT_EQ(split(ends), std::pair(Names{}, Names{}));
}

TEST_F(FlowStretchesTest, EndsBeforeALoopWithoutAccesses) {
  FlowStretches ends = ends_of(R"(
access: br label %spin
spin: br i1 %c, label %spin, label %access2
access2: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
}

TEST_F(FlowStretchesTest, GoesThroughBlocksWithNothing) {
  FlowStretches ends = ends_of(R"(
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
  EXPECT_TRUE(ends.is_open_at(block("access2")));
  EXPECT_EQ(split(ends), std::pair(Names{}, (Names{"call", "out"})));
}

// A block with nothing that is entered from both: the stretch begins on the way from where none is open.
TEST_F(FlowStretchesTest, BeginsWhereOthersComeToAnOpenOne) {
  FlowStretches ends = ends_of(R"(
entry: br i1 %c, label %access, label %call
access: br label %join
call: br label %join
join: br i1 %c, label %access2, label %out
access2: br label %out
out: ret i32 0
)");
  EXPECT_TRUE(ends.leave_open(block("access")));
  EXPECT_FALSE(ends.leave_open(block("access2")));
  EXPECT_TRUE(ends.is_open_at(block("join")));
  EXPECT_TRUE(ends.is_open_at(block("access2")));
  EXPECT_EQ(split(ends), std::pair(Names{"join"}, Names{"out"}));
}

// No block can be put on the way from a computed goto: so no stretch is left open into what that leads to.
TEST_F(FlowStretchesTest, EndsBeforeWhatAComputedGotoLeadsTo) {
  FlowStretches ends = ends_of(R"(
entry:
  %at = select i1 %c, ptr blockaddress(@f, %access), ptr blockaddress(@f, %access2)
  indirectbr ptr %at, [label %access, label %access2]
access: br label %access2
access2: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
  EXPECT_FALSE(ends.is_open_at(block("access2")));
  EXPECT_EQ(split(ends), std::pair(Names{}, Names{}));
}

// Nobody leaves a stretch open into blocks that come to be asked about only for their own sake.
TEST_F(FlowStretchesTest, IsNotOpenWhereNobodyLeftIt) {
  FlowStretches ends = ends_of(R"(
entry: br label %one
one: br label %access
access: br i1 %c, label %call, label %out
call: br label %out
out: ret i32 0
)");
  EXPECT_FALSE(ends.leave_open(block("access")));
  EXPECT_FALSE(ends.is_open_at(block("one")));
  EXPECT_FALSE(ends.is_open_at(block("access")));
  EXPECT_EQ(split(ends), std::pair(Names{}, Names{}));
}

}  // namespace
}  // namespace heddle
