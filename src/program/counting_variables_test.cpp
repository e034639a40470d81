#include "program/counting_variables.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace heddle {
namespace {

// The first loop of a function, and what counts it.
class CountingVariables : public testing::Test {
 protected:
  const std::vector<CountingVariable>& of(const std::string& body) {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(
        "target datalayout = \"e-p:64:64-i64:64\"\n@table = global [8 x i32] zeroinitializer\n"
        "define void @test(i1 %c, i64 %n, ptr %p) {\n" +
            body + "}\n",
        error, context_);
    if (module_ == nullptr) {
      ADD_FAILURE() << error.getMessage().str();
      std::abort();
    }
    tree_ = std::make_unique<llvm::DominatorTree>(*module_->getFunction("test"));
    loops_ = std::make_unique<llvm::LoopInfo>(*tree_);
    found_ = counting_variables(**loops_->begin(), *loops_, *tree_);
    return found_;
  }

  static std::string name(const llvm::Value* value) { return value != nullptr ? value->getName().str() : "-"; }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::DominatorTree> tree_;
  std::unique_ptr<llvm::LoopInfo> loops_;
  std::vector<CountingVariable> found_;
};

TEST_F(CountingVariables, FromAConstant) {
  const auto& found = of(R"(entry:
    br label %loop
  loop:
    %i = phi i64 [ 5, %entry ], [ %more, %loop ]
    %more = add i64 %i, 3
    br i1 %c, label %loop, label %end
  end:
    ret void
  )");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(name(found[0].base), "-");
  EXPECT_EQ(found[0].rounds(5), 1U);
  EXPECT_EQ(found[0].rounds(11), 3U);
  EXPECT_EQ(found[0].rounds_by_next(11), 2U);
  EXPECT_EQ(found[0].rounds(12), std::nullopt);
  EXPECT_EQ(found[0].rounds(2), std::nullopt);
}

TEST_F(CountingVariables, FromAValue) {
  const auto& found = of(R"(entry:
    %second = getelementptr i8, ptr %p, i64 8
    %less = add i64 %n, -1
    br label %loop
  loop:
    %at = phi ptr [ %second, %entry ], [ %next, %loop ]
    %i = phi i64 [ %less, %entry ], [ %down, %loop ]
    %zero = phi i64 [ 0, %entry ], [ %up, %loop ]
    %next = getelementptr i32, ptr %at, i64 1
    %down = add i64 %i, -1
    %up = add i64 %zero, 1
    br i1 %c, label %loop, label %end
  end:
    ret void
  )");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(name(found[0].variable), "zero");  // the one that needs no other value comes first
  EXPECT_EQ(name(found[1].variable), "at");
  EXPECT_EQ(name(found[1].base), "p");
  EXPECT_EQ(found[1].rounds(1008, 1000), 1U);
  EXPECT_EQ(found[1].rounds(1020, 1000), 4U);
  EXPECT_EQ(found[1].rounds_by_next(1020, 1000), 3U);
  EXPECT_EQ(found[1].rounds(1000, 1000), std::nullopt);
  EXPECT_EQ(name(found[2].base), "n");
  EXPECT_EQ(found[2].rounds(9, 10), 1U);
  EXPECT_EQ(found[2].rounds(7, 10), 3U);
}

TEST_F(CountingVariables, Downwards) {
  const auto& found = of(R"(entry:
    br label %loop
  loop:
    %at = phi ptr [ %p, %entry ], [ %next, %loop ]
    %next = getelementptr i32, ptr %at, i64 -1
    br i1 %c, label %loop, label %end
  end:
    ret void
  )");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rounds(992, 1000), 3U);
  EXPECT_EQ(found[0].rounds(1004, 1000), std::nullopt);
}

TEST_F(CountingVariables, NotThose) {
  // Steps that differ, steps that are no constant, lists, addresses that no frame has, values that change
  // meanwhile.
  EXPECT_TRUE(of(R"(entry:
    br label %loop
  loop:
    %a = phi i64 [ %n, %entry ], [ %a1, %loop ], [ %a2, %other ]
    %b = phi i64 [ 0, %entry ], [ %b1, %loop ], [ %b1, %other ]
    %l = phi ptr [ %p, %entry ], [ %l1, %loop ], [ %l1, %other ]
    %g = phi ptr [ @table, %entry ], [ %g1, %loop ], [ %g1, %other ]
    %a1 = add i64 %a, 1
    %a2 = add i64 %a, 2
    %b1 = add i64 %b, %n
    %l1 = load ptr, ptr %l
    %g1 = getelementptr i32, ptr %g, i64 1
    br i1 %c, label %loop, label %other
  other:
    br i1 %c, label %loop, label %end
  end:
    ret void
  )")
                  .empty());
}

}  // namespace
}  // namespace heddle
