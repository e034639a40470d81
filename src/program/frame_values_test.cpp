#include "program/frame_values.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

// As clang writes it with -O2 -g: the place of a variable is linked with it where it is assigned to; so is that
// of a part of one that was split.
constexpr const char* kAssigned = R"(
define void @f() !dbg !4 {
  %whole = alloca i64, align 8, !DIAssignID !8
    #dbg_assign(i1 undef, !7, !DIExpression(), !8, ptr %whole, !DIExpression(), !11)
  %part = alloca i32, align 4, !DIAssignID !9
    #dbg_assign(i1 undef, !10, !DIExpression(DW_OP_LLVM_fragment, 0, 32), !9, ptr %part, !DIExpression(), !11)
  ret void, !dbg !11
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug, isOptimized: true)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "f", file: !1, unit: !0, type: !3, spFlags: DISPFlagDefinition)
!5 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
!7 = !DILocalVariable(name: "whole", scope: !4, file: !1, line: 2, type: !5)
!8 = distinct !DIAssignID()
!9 = distinct !DIAssignID()
!10 = !DILocalVariable(name: "split", scope: !4, file: !1, line: 3, type: !5)
!11 = !DILocation(line: 4, scope: !4)
)";

TEST(FrameValues, AssignedVariables) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(kAssigned, error, context);
  ASSERT_NE(module, nullptr) << error.getMessage().str();
  const std::vector<const llvm::Value*> values = frame_values(*module->getFunction("f"));
  ASSERT_EQ(values.size(), 2u);
  const auto& whole = *llvm::cast<llvm::AllocaInst>(values[0]);
  const auto& part = *llvm::cast<llvm::AllocaInst>(values[1]);
  EXPECT_EQ(frame_value_name(whole), "whole");
  ASSERT_NE(frame_value_type(whole), nullptr);
  EXPECT_EQ(frame_value_type(whole)->getName(), "long");
  EXPECT_FALSE(is_temporary(whole));
  EXPECT_EQ(frame_value_type(part), nullptr);
  EXPECT_TRUE(is_temporary(part));
}

}  // namespace
}  // namespace heddle
