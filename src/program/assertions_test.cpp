// Which branches are assertions, which loads decide them, and for which values they fail.
#include "program/assertions.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <map>

#include "program/program.h"

namespace heddle {
namespace {

constexpr char kDeclarations[] = R"(
  @a = global i32 0
  @b = global i32 0
  @p = global ptr null
  declare void @__assert_fail() noreturn
  declare void @exit(i32) noreturn
  declare void @log()
)";

class AssertionsTest : public testing::Test {
 protected:
  void parse(const std::string& code) {
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(kDeclarations + code, error, *context);
    ASSERT_NE(module, nullptr) << error.getMessage().str();
    program_ = Program::from_module(std::move(context), std::move(module));
    assertions_ = std::make_unique<Assertions>(*program_);
  }

  // By the name of the value.
  uint32_t number(const std::string& name) const {
    for (uint32_t i = 0; i < program_->instruction_count(); ++i)
      if (program_->instruction(InstructionId(i)).getName() == name) return i;
    ADD_FAILURE() << name;
    return 0;
  }

  std::optional<bool> fails(const std::string& load, const std::map<std::string, uint64_t>& values) const {
    const std::vector<uint32_t>& decided = assertions_->decided_by(number(load));
    if (decided.size() != 1) {
      ADD_FAILURE() << load << " decides " << decided.size();
      return std::nullopt;
    }
    return assertions_->fails(decided[0], [&](uint32_t each) -> std::optional<uint64_t> {
      for (const auto& [name, value] : values)
        if (number(name) == each) return value;
      return std::nullopt;
    });
  }

  std::unique_ptr<Program> program_;
  std::unique_ptr<Assertions> assertions_;
};

TEST_F(AssertionsTest, AreComputedFromLoads) {
  parse(R"(define void @f() {
      %x = load i32, ptr @a
      %y = load i32, ptr @b
      %unused = load i32, ptr @b
      %sum = add i32 %x, %y
      %right = icmp eq i32 %sum, 10
      br i1 %right, label %good, label %bad
    bad:
      call void @log()
      br label %worse
    worse:
      call void @__assert_fail()
      unreachable
    good:
      ret void
    })");
  EXPECT_EQ(fails("x", {{"x", 4}, {"y", 6}}), false);
  EXPECT_EQ(fails("y", {{"x", 4}, {"y", 5}}), true);
  EXPECT_EQ(fails("x", {{"x", 4}}), std::nullopt);
  EXPECT_TRUE(assertions_->decided_by(number("unused")).empty());
}

TEST_F(AssertionsTest, AreNotWhereTheProgramEndsWell) {
  parse(R"(define void @f() {
      %x = load i32, ptr @a
      %over = icmp slt i32 %x, 0
      br i1 %over, label %end, label %on
    end:
      call void @exit(i32 0)
      unreachable
    on:
      ret void
    })");
  EXPECT_TRUE(assertions_->decided_by(number("x")).empty());
}

// As -O0 has it, and through a function.
TEST_F(AssertionsTest, FollowLocalVariablesAndResults) {
  parse(R"(
    define i32 @get() {
      %x = load i32, ptr @a
      ret i32 %x
    }
    define void @f() {
      %slot = alloca i32
      %y = load i32, ptr @b
      store i32 %y, ptr %slot
      %again = load i32, ptr %slot
      %large = icmp ugt i32 %again, 3
      br i1 %large, label %bad, label %more
    more:
      %got = call i32 @get()
      %wrong = icmp ne i32 %got, 0
      br i1 %wrong, label %bad, label %good
    bad:
      call void @__assert_fail()
      unreachable
    good:
      ret void
    })");
  EXPECT_EQ(fails("y", {{"y", 4}}), true);
  EXPECT_EQ(fails("y", {{"y", 3}}), false);
  EXPECT_EQ(fails("x", {{"x", 1}}), std::nullopt);  // of another activation: it is known to decide, not how
}

TEST_F(AssertionsTest, KnowWhereStoredValuesComeFrom) {
  parse(R"(define void @f() {
      %x = load i32, ptr @a
      %more = add i32 %x, 1
      store i32 %more, ptr @a
      %q = load ptr, ptr @p
      store i32 7, ptr %q
      ret void
    })");
  EXPECT_EQ(assertions_->stored_from(number("more") + 1), std::vector<uint32_t>{number("x")});
  EXPECT_TRUE(assertions_->stored_from(number("q") + 1).empty());
}

}  // namespace
}  // namespace heddle
