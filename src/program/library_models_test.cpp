#include "program/library_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include "base/files.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LibraryModels : public testing::Test {
 protected:
  std::unique_ptr<llvm::Module> parse(const std::string& ir) {
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, problem, context_);
    EXPECT_NE(module, nullptr) << problem.getMessage().str();
    return module;
  }
  std::string bitcode(const std::string& ir) {
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    llvm::WriteBitcodeToFile(*parse(ir), stream);
    return bytes;
  }
  std::vector<size_t> link(const std::string& program, const std::vector<std::string>& models,
                           const std::vector<std::string>& foreign = {}) {
    program_ = parse(program);
    Result<std::vector<size_t>> used = link_library_models(*program_, models, foreign);
    EXPECT_TRUE(used) << used.error().text();
    EXPECT_FALSE(llvm::verifyModule(*program_, &llvm::errs()));
    return used ? *used : std::vector<size_t>();
  }
  bool is_local_code(const char* name) const {
    const llvm::Function* function = program_->getFunction(name);
    return function != nullptr && !function->isDeclaration() && function->hasInternalLinkage();
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> program_;
};

const std::string kSort = R"(
$inline_part = comdat any
@state = global i32 7
define linkonce_odr void @inline_part() comdat { ret void }
define void @sort(ptr %data) {
  call void @inline_part()
  call void @copy(ptr %data)
  store i32 1, ptr @state
  ret void
}
define void @other() { ret void }
declare void @copy(ptr)
)";
const std::string kCopy = "define void @copy(ptr %to) { ret void }";
const std::string kCaller = R"(
declare void @sort(ptr)
define void @main() {
  call void @sort(ptr null)
  ret void
})";

TEST_F(LibraryModels, OnlyWhatIsCalledBecomesLocalCodeOfTheProgram) {
  EXPECT_THAT(link(kCaller, {bitcode(kSort)}), ElementsAre(0u));
  EXPECT_TRUE(is_local_code("sort"));
  EXPECT_TRUE(is_local_code("inline_part"));
  EXPECT_TRUE(program_->getNamedGlobal("state")->hasInternalLinkage());
  EXPECT_EQ(program_->getFunction("other"), nullptr);
  EXPECT_TRUE(program_->getFunction("copy")->isDeclaration());
  EXPECT_FALSE(program_->getFunction("main")->hasLocalLinkage());
}

TEST_F(LibraryModels, ModelsMayNeedOtherModels) {
  // The one that is needed by the other stands in front of it and behind it.
  for (const bool first : {true, false}) {
    const std::string copy = bitcode(kCopy), sort = bitcode(kSort);
    EXPECT_THAT(link(kCaller, first ? std::vector{copy, sort} : std::vector{sort, copy}), ElementsAre(0u, 1u));
    EXPECT_TRUE(is_local_code("copy"));
    EXPECT_TRUE(is_local_code("sort"));
  }
}

TEST_F(LibraryModels, ADefinitionOfTheProgramWins) {
  EXPECT_THAT(link("define void @sort(ptr %data) { unreachable }", {bitcode(kSort)}), IsEmpty());
  EXPECT_FALSE(program_->getFunction("sort")->hasLocalLinkage());
  // It counts for models as well.
  EXPECT_THAT(link(kCaller + "define void @copy(ptr %to) { unreachable }", {bitcode(kSort), bitcode(kCopy)}),
              ElementsAre(0u));
  EXPECT_FALSE(program_->getFunction("copy")->hasLocalLinkage());
}

TEST_F(LibraryModels, ForeignDefinitionsWinOverModelsOfC) {
  EXPECT_THAT(link(kCaller, {bitcode(kSort)}, {"sort"}), IsEmpty());
  EXPECT_TRUE(program_->getFunction("sort")->isDeclaration());
  // The C++ library may be inside the binary, but nobody else may define what is in it.
  const std::string name = "_ZNSt8__detail15_List_node_base9_M_unhookEv";
  EXPECT_THAT(
      link("declare void @" + name + "(ptr) define void @f() { call void @" + name + "(ptr null) ret void }",
           {bitcode("define void @" + name + "(ptr %node) { ret void }")}, {name}),
      ElementsAre(0u));
}

TEST_F(LibraryModels, NothingIsTakenForDeclarationsThatDoNotFit) {
  EXPECT_THAT(link("declare void @sort(ptr)", {bitcode(kSort)}), IsEmpty()) << "nobody calls it";
  EXPECT_THAT(
      link("declare i32 @sort(...) define void @f() { call i32 (...) @sort() ret void }", {bitcode(kSort)}),
      IsEmpty());
  // Beside one that fits.
  EXPECT_THAT(
      link(kCaller + "declare i32 @other(i32) define i32 @g() { %r = call i32 @other(i32 1) ret i32 %r }",
           {bitcode(kSort)}),
      ElementsAre(0u));
  EXPECT_TRUE(program_->getFunction("other")->isDeclaration());
}

TEST_F(LibraryModels, ThinOnesArePutInPlaceOfTheirCalls) {
  link(R"(
    declare void @wait(ptr)
    @kept = global ptr @wait
    define void @main() {
      call void @wait(ptr null)
      ret void
    })",
       {bitcode(R"(
    @wait = alias void (ptr), ptr @wait_really
    declare void @system_wait(ptr)
    define void @wait_really(ptr %p) alwaysinline {
      call void @system_wait(ptr %p)
      ret void
    })")});
  const auto& call = llvm::cast<llvm::CallInst>(program_->getFunction("main")->getEntryBlock().front());
  EXPECT_EQ(call.getCalledFunction()->getName(), "system_wait");
  EXPECT_EQ(program_->getNamedAlias("wait"), nullptr);
  EXPECT_TRUE(is_local_code("wait_really")) << "for the pointer to it";
}

TEST_F(LibraryModels, HowTheyWereCompiledDoesNotChangeTheProgram) {
  link(kCaller + "!llvm.module.flags = !{!0} !0 = !{i32 8, !\"PIC Level\", i32 0}",
       {bitcode(kSort + "!llvm.module.flags = !{!0, !1} !0 = !{i32 8, !\"PIC Level\", i32 2} "
                        "!1 = !{i32 7, !\"uwtable\", i32 2}")});
  EXPECT_EQ(program_->getPICLevel(), llvm::PICLevel::NotPIC);
  EXPECT_EQ(program_->getModuleFlag("uwtable"), nullptr);
}

TEST_F(LibraryModels, TheShippedOnesServeACallOfMap) {
  Result<std::vector<fs::path>> files = library_model_files();
  ASSERT_TRUE(files) << files.error().text();
  std::vector<std::string> models;
  for (const fs::path& file : *files) models.push_back(*read_file(file));
  const std::string name = "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base";
  EXPECT_THAT(link("declare ptr @" + name + "(ptr) define ptr @f(ptr %n) { %r = call ptr @" + name +
                       "(ptr %n) ret ptr %r }",
                   models),
              testing::SizeIs(1));
  EXPECT_TRUE(is_local_code(name.c_str()));
  EXPECT_THAT(link("define void @main() { ret void }", models), IsEmpty());
}

TEST_F(LibraryModels, OfOpenMpAllIsTakenOrNothing) {
  const std::string model =
      bitcode("define void @__kmpc_fork_call() { ret void } define i32 @omp_get_thread_num() { ret i32 0 }");
  const std::string fork =
      "declare void @__kmpc_fork_call() define void @f() { call void @__kmpc_fork_call() ret void }";
  EXPECT_THAT(link(fork, {model}), ElementsAre(0u));
  EXPECT_TRUE(is_local_code("__kmpc_fork_call"));
  const std::string more = "declare void @__kmpc_more() define void @g() { call void @__kmpc_more() ret void }";
  EXPECT_THAT(link(fork + more, {model}), IsEmpty());
  EXPECT_TRUE(program_->getFunction("__kmpc_fork_call")->isDeclaration());
  EXPECT_THAT(link(fork + "declare void @__kmpc_more()", {model}), ElementsAre(0u)) << "nobody calls it";
  const std::string own = "declare void @omp_own() define void @g() { call void @omp_own() ret void }";
  EXPECT_THAT(link(fork + own, {model}, {"omp_own"}), ElementsAre(0u)) << "the program brings it";
}

TEST_F(LibraryModels, DamageIsAnError) {
  program_ = parse(kCaller);
  EXPECT_FALSE(link_library_models(*program_, {"no bitcode"}, {}));
}

}  // namespace
}  // namespace heddle
