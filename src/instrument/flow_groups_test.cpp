#include "instrument/flow_groups.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

class FlowGroupsTest : public testing::Test {
 protected:
  // All loads and stores of a function with one block are hooked. How many accesses each group has.
  std::vector<size_t> groups_of(const char* body) {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(std::string("@global = global [8 x i32] zeroinitializer, align 16\n"
                                                    "define void @f(ptr %p, ptr %q, i64 %n) {\n") +
                                            body + "ret void\n}\n",
                                        error, context_);
    EXPECT_NE(module_, nullptr) << error.getMessage().str();
    groups_.clear();
    FlowGroupBuilder builder;
    for (llvm::Instruction& instruction : module_->getFunction("f")->front()) {
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) {
        if (!builder.fits({&instruction, {}})) groups_.push_back(builder.take());
        builder.add({&instruction, {}});
      }
      builder.pass(instruction);
    }
    groups_.push_back(builder.take());
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    std::vector<size_t> out;
    for (const FlowGroup& group : groups_) out.push_back(group.accesses.size());
    return out;
  }

  FlowGranules granules(size_t group) {
    llvm::SmallVector<Touched, 8> touched;
    for (const FlowAccess& one : groups_[group].accesses)
      llvm::append_range(touched, touched_by(*one.instruction, one.hooked));
    return granules_of(touched, module_->getDataLayout());
  }

  using Sizes = std::vector<size_t>;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::vector<FlowGroup> groups_;
};

TEST_F(FlowGroupsTest, ASwapIsOneGroupWithTwoGranules) {
  EXPECT_EQ(groups_of(R"(
    %a = load i32, ptr %p, align 4
    %b = load i32, ptr %q, align 4
    store i32 %b, ptr %p, align 4
    store i32 %a, ptr %q, align 4
)"),
            Sizes{4});
  EXPECT_EQ(granules(0).size(), 2u);
  for (const FlowGranule& one : granules(0)) EXPECT_TRUE(one.writes && !one.aligned);
}

TEST_F(FlowGroupsTest, WhatALoadedPointerLeadsToIsAnotherGroup) {
  EXPECT_EQ(groups_of(R"(
    %a = load ptr, ptr %p, align 8
    %b = load i32, ptr %q, align 4
    %c = load i32, ptr %a, align 4
    %d = getelementptr i8, ptr %a, i64 4
    store i32 %c, ptr %d, align 4
)"),
            (Sizes{2, 2}));
}

TEST_F(FlowGroupsTest, MovesArithmeticBeforeTheFirstAccess) {
  EXPECT_EQ(groups_of(R"(
    %a = load i32, ptr %p, align 4
    %m = add i64 %n, 1
    %at = getelementptr i32, ptr %q, i64 %m
    store i32 %a, ptr %at, align 4
)"),
            Sizes{2});
  EXPECT_FALSE(llvm::isa<llvm::LoadInst>(module_->getFunction("f")->front().front()));
}

TEST_F(FlowGroupsTest, AtomicAndVolatileAccessesStandAlone) {
  EXPECT_EQ(groups_of(R"(
    %a = load i32, ptr %p, align 4
    %b = load atomic i32, ptr %q monotonic, align 4
    store volatile i32 %a, ptr %p, align 4
    store i32 %a, ptr %p, align 4
)"),
            (Sizes{1, 1, 1, 1}));
}

// What one access says of the alignment of a base counts for the others.
TEST_F(FlowGroupsTest, FieldsOfOneGranuleAreOneGranule) {
  EXPECT_EQ(groups_of(R"(
    %f = getelementptr i8, ptr %p, i64 4
    %g = getelementptr i8, ptr %p, i64 8
    %h = getelementptr i8, ptr %p, i64 12
    %a = load i32, ptr %f, align 4
    %b = load i64, ptr %g, align 8
    %c = load i32, ptr %h, align 4
    store i8 0, ptr %p, align 1
)"),
            Sizes{4});
  const FlowGranules all = granules(0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].aligned && all[0].offset == 0 && all[0].writes);
  EXPECT_TRUE(all[1].aligned && all[1].offset == 8 && !all[1].writes);
}

TEST_F(FlowGroupsTest, AnAlignedAccessBehindTheBaseTellsWhereGranulesBegin) {
  groups_of(R"(
    %f = getelementptr i8, ptr %p, i64 12
    %a = load i64, ptr %f, align 8
    %b = load i32, ptr %p, align 4
)");
  const FlowGranules all = granules(0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].offset, 12);
  EXPECT_EQ(all[1].offset, -4);  // the pointer is in the middle of a granule
}

TEST_F(FlowGroupsTest, UnalignedAndWideAccessesTouchAllTheirGranules) {
  groups_of(R"(
    %a = load i64, ptr %p, align 1
    %b = load <2 x i64>, ptr %q, align 4
    %c = load <2 x i64>, ptr @global, align 16
)");
  std::vector<int64_t> offsets;
  for (const FlowGranule& one : granules(0)) offsets.push_back(one.offset);
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 7, 0, 8, 15, 0, 8}));
}

}  // namespace
}  // namespace heddle
