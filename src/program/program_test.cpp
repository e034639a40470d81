#include "program/program.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <random>
#include <thread>

#include "image/elf_file.h"
#include "program/model_loader.h"

namespace heddle {
namespace {

using testing::HasSubstr;

// A module record as the plugin writes it.
std::string module_record(const std::string& source, const std::string& ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, problem, context);
  EXPECT_NE(module, nullptr) << problem.getMessage().str();
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream, true);
  return encode_record(
      {HEDDLE_RECORD_module, {{"source", source}, {"folder", "/src"}, {"args", {"-O2", source}}}, bitcode});
}

const std::string kFirst = R"(
@counter = internal global i32 0
declare void @shared_helper()
define internal void @helper() { ret void }
define linkonce_odr void @inline_twice() { ret void }
define i32 @main() {
  call void @helper()
  call void @shared_helper()
  call void @inline_twice()
  ret i32 0
})";
const std::string kSecond = R"(
define internal void @helper() { unreachable }
define linkonce_odr void @inline_twice() { ret void }
define void @shared_helper() {
  call void @helper()
  call void @inline_twice()
  br label %end
end:
  ret void
})";

std::string two_modules() {
  return module_record("a.c", kFirst) + module_record("b.c", kSecond);
}

TEST(Program, LinksModulesAndNumbersThem) {
  Result<LoadedModel> model = link_model(two_modules(), "", "test");
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_EQ(model->units.size(), 2u);
  EXPECT_EQ(model->units[1].source, "b.c");
  EXPECT_EQ(model->units[1].args, (std::vector<std::string>{"-O2", "b.c"}));
  const auto program = Program::from_module(std::move(model->context), std::move(model->module));
  EXPECT_FALSE(llvm::verifyModule(program->module()));
  // helper, inline_twice (once), main, shared_helper and the second module's own helper.
  EXPECT_EQ(program->function_count(), 5u);
  EXPECT_EQ(program->block_count(), 6u);
  for (size_t i = 0; i < program->instruction_count(); ++i)
    EXPECT_EQ(program->id_of(program->instruction(InstructionId(i))).index(), i);
  for (size_t i = 0; i < program->block_count(); ++i)
    EXPECT_EQ(program->id_of(program->block(BlockId(i))).index(), i);
  const llvm::Function& main = *program->module().getFunction("main");
  EXPECT_EQ(&program->function(program->id_of(main)), &main);
}

TEST(Program, ThreadsAskForLayoutsAtTheSameTime) {
  constexpr uint64_t kTypes = 2000;
  std::string ir;
  for (uint64_t i = 0; i < kTypes; ++i) {
    ir += fmt::format("%type{0} = type {{ [{0} x i8], i32 }}\n", i);
    ir += fmt::format("@variable{0} = global %type{0} zeroinitializer\n", i);
  }
  Result<LoadedModel> model = link_model(module_record("a.c", ir), "", "test");
  ASSERT_TRUE(model) << model.error().text();
  const auto program = Program::from_module(std::move(model->context), std::move(model->module));
  std::array<uint64_t, 4> sums{};
  std::vector<std::thread> threads;
  for (uint64_t& sum : sums)
    threads.emplace_back([&] {
      for (const llvm::GlobalVariable& variable : program->module().globals())
        sum += program->module().getDataLayout().getTypeAllocSize(variable.getValueType());
    });
  for (std::thread& thread : threads) thread.join();
  uint64_t expected = 0;
  for (uint64_t i = 0; i < kTypes; ++i) expected += (i + 3) / 4 * 4 + 4;
  EXPECT_THAT(sums, testing::Each(expected));
}

TEST(Program, IdentityFollowsTheContent) {
  const std::string one = link_model(two_modules(), "", "test")->identity;
  EXPECT_EQ(one.size(), 32u);
  EXPECT_EQ(link_model(two_modules(), "", "another name")->identity, one);
  EXPECT_NE(link_model(module_record("a.c", kFirst), "", "test")->identity, one);
}

TEST(Program, TwoDefinitionsOfOneFunctionAreAnError) {
  const std::string twice = module_record("a.c", "define void @f() { ret void }") +
                            module_record("b.c", "define void @f() { ret void }");
  const Result<LoadedModel> model = link_model(twice, "", "test");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text(), HasSubstr("b.c"));
  EXPECT_THAT(model.error().text(), HasSubstr("multiply defined"));
}

TEST(Program, ARecordThatHoldsNoBitcodeIsAnError) {
  const std::string record =
      encode_record({HEDDLE_RECORD_module, {{"source", "a.c"}}, "this is no bitcode at all"});
  const Result<LoadedModel> model = link_model(record, "", "test");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().what, HasSubstr("a.c"));
}

TEST(Program, AnEmptyModelIsAProgramWithoutFunctions) {
  EXPECT_TRUE(link_model("", "", "test"));
}

// Thousands of damages of both sections: an error, or the very same program.
TEST(Program, DamageNeverCrashesAndNeverChangesTheProgram) {
  LinkPlan plan;
  plan.folder = "/src";
  plan.items.push_back({{}, {{LinkInput::Kind::foreign, "/src/x.o", {{"x.o", "bytes"}}}}});
  const std::string modules = two_modules(), links = encode_record(plan.to_record());
  std::mt19937 random(11);
  size_t refused = 0;
  constexpr size_t kRounds = 6000;
  for (size_t round = 0; round < kRounds; ++round) {
    std::string m = modules, l = links;
    std::string& victim = round % 4 == 0 ? l : m;
    if (round % 7 == 0) victim.resize(random() % victim.size());
    for (unsigned n = 1 + random() % 4; n > 0 && !victim.empty(); --n)
      victim[random() % victim.size()] ^= static_cast<char>(1 << random() % 8);
    const Result<LoadedModel> model = link_model(m, l, "damaged");
    if (!model) {
      EXPECT_FALSE(model.error().what.empty());
      EXPECT_FALSE(model.error().next.empty());
      ++refused;
    } else if (!m.empty()) {
      EXPECT_EQ(model->units.size(), 2u);
    }
  }
  EXPECT_GT(refused, kRounds * 8 / 10);
}

}  // namespace
}  // namespace heddle
