#include "program/source_place.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

// A store of user code, one inlined from a system header into main at line 7, one without a location; a block
// without any.
constexpr const char* kModule = R"(
define void @main(ptr %p) !dbg !4 {
  store i32 1, ptr %p, !dbg !5
  store i32 2, ptr %p, !dbg !7
  store i32 3, ptr %p
  br label %end, !dbg !5
end:
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!9}
!9 = !{i32 2, !"Debug Info Version", i32 3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "main.c", directory: "/home/user/src")
!2 = !DIFile(filename: "/usr/include/lib.h", directory: "/home/user/src")
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "main", scope: !1, file: !1, line: 3, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 5, column: 2, scope: !4)
!6 = distinct !DISubprogram(name: "helper", linkageName: "_Z6helperi", scope: !2, file: !2, line: 10, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DILocation(line: 11, column: 1, scope: !6, inlinedAt: !8)
!8 = distinct !DILocation(line: 7, column: 4, scope: !4)
)";

class SourcePlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(kModule, problem, context_);
    ASSERT_NE(module_, nullptr) << problem.getMessage().str();
    for (const llvm::Instruction& i : llvm::instructions(*module_->getFunction("main"))) list_.push_back(&i);
  }
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::vector<const llvm::Instruction*> list_;
};

TEST_F(SourcePlaceTest, UserCode) {
  const SourcePlace place = source_place(*list_[0]);
  EXPECT_EQ(place.text(), "/home/user/src/main.c:5");
  EXPECT_EQ(place.column, 2u);
  EXPECT_EQ(place.function, "main");
}

TEST_F(SourcePlaceTest, InlinedCodeHasAllItsPlaces) {
  const std::vector<SourcePlace> places = source_places(*list_[1]);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].text(), "/usr/include/lib.h:11");
  EXPECT_EQ(places[0].function, "helper(int)");
  EXPECT_EQ(places[1].text(), "/home/user/src/main.c:7");
  EXPECT_EQ(user_place(*list_[1]).text(), "/home/user/src/main.c:7");
}

TEST_F(SourcePlaceTest, WithoutALocationTheNextInstructionsIsTaken) {
  EXPECT_EQ(source_place(*list_[2]).text(), "/home/user/src/main.c:5");
}

TEST_F(SourcePlaceTest, InABlockWithoutLocationsTheFunctionIsNamed) {
  EXPECT_FALSE(source_place(*list_[4]).known());
  EXPECT_EQ(source_place(*list_[4]).text(), "main");
}

TEST(ShortName, LeavesOutArguments) {
  EXPECT_EQ(short_name("short<int>(int)"), "short<int>(int)");
  const std::string args(60, 'x');
  EXPECT_EQ(short_name("std::map<" + args + ", a<b>>::at(" + args + " const&)"), "std::map<>::at()");
  EXPECT_EQ(short_name("A<" + args + ">::operator<<(B<int>&)"), "A<>::operator<<()");
  EXPECT_EQ(short_name("A<" + args + ">::operator->()"), "A<>::operator->()");
  EXPECT_EQ(short_name("A<" + args + ">::operator()(int) const"), "A<>::operator()() const");
  EXPECT_EQ(short_name("A<" + args + ">::operator[](int)"), "A<>::operator[]()");
  EXPECT_EQ(short_name("bool std::operator==<char>(" + args + " const&)"), "bool std::operator==<>()");
  EXPECT_EQ(short_name("A<" + args + ">::operator<=>(A const&)"), "A<>::operator<=>()");
  EXPECT_EQ(short_name("B& operator<<<int>(B&, A<" + args + ">)"), "B& operator<<<>()");
}

}  // namespace
}  // namespace heddle
