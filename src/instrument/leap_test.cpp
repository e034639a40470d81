#include "instrument/leap.h"

#include <gtest/gtest.h>

#include "abi/leap.h"
#include "instrument/control_fixture.h"

namespace heddle {
namespace {

constexpr const char* kHead = R"(
@x = internal global i32 0
@y = internal global [64 x i8] zeroinitializer
@z = internal global [64 x i8] zeroinitializer
@lock = internal global [40 x i8] zeroinitializer
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @pthread_mutex_lock(ptr)
define i32 @main() { ret i32 0 }
)";

// The instructions of @f, one word each: "begin" and "end" with the location, others by their opcode.
std::string instrumented(const std::string& body) {
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> parsed = llvm::parseAssemblyString(
      kHead + ("define void @f() {\n" + body + "\nret void\n}"), diagnostic, *context);
  if (parsed == nullptr) return diagnostic.getMessage().str();
  const std::unique_ptr<Program> program = Program::from_module(std::move(context), std::move(parsed));
  const std::unique_ptr<llvm::Module> module = program->take_module();
  const Result<void> result = instrument_leap(*program, *module, shipped_effects());
  if (!result) return result.error().text();
  std::string words;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f"))) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::StringRef callee = call == nullptr ? "" : call->getCalledFunction()->getName();
    if (callee != HEDDLE_HOOK_LEAP_BEGIN && callee != HEDDLE_HOOK_LEAP_END) {
      words += std::string(instruction.getOpcodeName()) + " ";
      continue;
    }
    llvm::APInt offset(64, 0);
    const llvm::Value* base =
        call->getArgOperand(0)->stripAndAccumulateConstantOffsets(module->getDataLayout(), offset, false);
    EXPECT_EQ(base->getName(), HEDDLE_LEAP_LOCATIONS);
    words += (callee == HEDDLE_HOOK_LEAP_BEGIN ? "begin" : "end") +
             std::to_string(offset.getZExtValue() / HEDDLE_LEAP_LOCATION_SIZE) + " ";
  }
  return words;
}

TEST(Leap, LockIsHeldDuringTheAccess) {
  EXPECT_EQ(instrumented("store i32 1, ptr @x"), "begin0 store end0 ret ");
}

TEST(Leap, LocationsAreToldApart) {
  EXPECT_EQ(instrumented("store i32 1, ptr @x\n store i8 1, ptr @y\n %1 = load i32, ptr @x"),
            "begin0 store end0 begin1 store end1 begin0 load end0 ret ");
}

TEST(Leap, PrivateMemoryIsLeftAlone) {
  EXPECT_EQ(instrumented("%p = alloca i32\n store i32 1, ptr %p"), "alloca store ret ");
}

// The copy in the other direction locks in the same order.
TEST(Leap, CopiesLockBothInOneOrder) {
  EXPECT_EQ(instrumented("call void @llvm.memcpy.p0.p0.i64(ptr @z, ptr @y, i64 64, i1 false)\n"
                         "call void @llvm.memcpy.p0.p0.i64(ptr @y, ptr @z, i64 64, i1 false)"),
            "begin0 begin1 call end1 end0 begin0 begin1 call end1 end0 ret ");
}

TEST(Leap, SynchronisationIsRecordedAfterTheCall) {
  EXPECT_EQ(instrumented("%1 = call i32 @pthread_mutex_lock(ptr @lock)"), "call begin0 end0 ret ");
}

}  // namespace
}  // namespace heddle
