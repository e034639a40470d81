#include "program/definition_lines.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

// Two methods "use" of one file, and a function of another name between them; line tables have no scopes.
constexpr const char* kText = R"(
define void @_ZN5First3useEv() !dbg !4 { ret void, !dbg !7 }
define void @_Z5otherv() !dbg !5 { ret void }
define void @_ZN6Second3useEv() !dbg !6 { ret void }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "app.cpp", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "use", scope: !1, file: !1, line: 10, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = distinct !DISubprogram(name: "other", scope: !1, file: !1, line: 15, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "use", scope: !1, file: !1, line: 20, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DILocation(line: 12, scope: !4)
)";

TEST(DefinitionLines, ALineIsInTheLastFunctionOfTheNameBeforeIt) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(kText, error, context);
  ASSERT_NE(module, nullptr) << error.getMessage().str();
  const DefinitionLines lines(*module);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 10, "use"), 10u);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 13, "use"), 10u);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 21, "use"), 20u);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 9, "use"), 0u);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 17, "other"), 15u);
  EXPECT_EQ(lines.begin_of("/src/app.cpp", 17, "missing"), 0u);
  EXPECT_EQ(lines.begin_of("/src/other.cpp", 10, "use"), 0u);
}

}  // namespace
}  // namespace heddle
