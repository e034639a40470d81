#include "instrument/clear_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The variables that are cleared, in the order of the code, with what stands before it: "name size before".
std::vector<std::string> cleared(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module =
      llvm::parseAssemblyString("define void @f(i64 %n) {\n" + body + "}\ndeclare void @use(ptr)\n" +
                                    "declare void @llvm.lifetime.start.p0(i64, ptr)\n"
                                    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n",
                                error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  clear_frames(unset_variables(function));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::vector<std::string> out;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* clear = llvm::dyn_cast<llvm::MemSetInst>(&instruction);
    if (clear == nullptr || !llvm::cast<llvm::Constant>(clear->getValue())->isNullValue()) continue;
    const auto* size = llvm::dyn_cast<llvm::ConstantInt>(clear->getLength());
    out.push_back(clear->getDest()->getName().str() + " " +
                  (size != nullptr ? std::to_string(size->getZExtValue()) : "dynamic") + " " +
                  clear->getPrevNode()->getOpcodeName());
  }
  return out;
}

TEST(ClearFrames, ClearsAtTheBeginningBehindAllVariables) {
  EXPECT_THAT(cleared("%a = alloca [3 x i32]\n %b = alloca i8\n call void @use(ptr %a)\n ret void\n"),
              ElementsAre("b 1 alloca", "a 12 call"));
}

TEST(ClearFrames, ClearsWhereALifeBegins) {
  EXPECT_THAT(cleared("%a = alloca i64\n call void @use(ptr null)\n br label %loop\nloop:\n"
                      " call void @llvm.lifetime.start.p0(i64 8, ptr %a)\n call void @use(ptr %a)\n"
                      " br i1 undef, label %loop, label %out\nout:\n ret void\n"),
              ElementsAre("a 8 call"));
}

TEST(ClearFrames, ClearsWhatIsAllocatedLater) {
  EXPECT_THAT(cleared("%a = alloca i32, i64 %n\n call void @use(ptr %a)\n ret void\n"),
              ElementsAre("a dynamic call"));
}

TEST(ClearFrames, LeavesThoseThatAreWrittenFirst) {
  const std::string begin = "%a = alloca i64\n call void @llvm.lifetime.start.p0(i64 8, ptr %a)\n";
  const auto set = [](int size) {
    return " call void @llvm.memset.p0.i64(ptr %a, i8 1, i64 " + std::to_string(size) +
           ", i1 false)\n ret void\n";
  };
  EXPECT_THAT(cleared(begin + set(8)), IsEmpty());
  EXPECT_THAT(cleared(begin + set(7)), ElementsAre("a 8 call"));
  EXPECT_THAT(cleared(begin + " call void @use(ptr %a)\n" + set(8)), ElementsAre("a 8 call"));
}

TEST(ClearFrames, LeavesLargeOnesAndEmptyOnes) {
  EXPECT_THAT(cleared("%a = alloca [65537 x i8]\n %b = alloca {}\n call void @use(ptr %a)\n ret void\n"),
              IsEmpty());
}

}  // namespace
}  // namespace heddle
