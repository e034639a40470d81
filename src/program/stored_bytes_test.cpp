#include "program/stored_bytes.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

// The bytes of each named value of the code, which has %x (i32), %y (i64), %p (ptr) and %b (i8).
std::string bytes(const std::string& code) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "declare i32 @llvm.umin.i32(i32, i32)\ndeclare i64 @llvm.ctpop.i64(i64)\n"
      "define void @f(i32 %x, i64 %y, ptr %p, i8 %b) {\n" +
          code + "\n ret void\n}",
      diagnostic, context);
  if (module == nullptr) return diagnostic.getMessage().str();
  std::string out;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f")))
    if (instruction.hasName())
      out += (out.empty() ? "" : " ") + instruction.getName().str() + std::to_string(stored_bytes(instruction));
  return out;
}

TEST(StoredBytes, OfTypes) {
  EXPECT_EQ(bytes(R"(
    %a = load i1, ptr %p
    %b1 = load i24, ptr %p
    %c = load double, ptr %p
    %d = load ptr, ptr %p
    %e = load i128, ptr %p
    %g = load <2 x i8>, ptr %p)"),
            "a1 b14 c8 d8 e0 g0");
}

TEST(StoredBytes, FewerWhereTheFormSaysSo) {
  EXPECT_EQ(
      bytes(R"(
    %mask = and i64 %y, 255
    %more = and i64 %y, 256
    %rest = urem i32 %x, 256
    %rest_more = urem i32 %x, 257
    %wide = zext i8 %b to i64
    %sum = add i64 %wide, 1
    %product = mul i64 %wide, %wide
    %top = lshr i32 %x, 24
    %all = lshr i32 %x, 64
    %part = udiv i32 %x, 65536
    %up = shl i64 %wide, 8
    %either = or i64 %mask, %more
    %cut = trunc i64 %mask to i32
    %least = call i32 @llvm.umin.i32(i32 %x, i32 7)
    %ones = call i64 @llvm.ctpop.i64(i64 %y)
    %less = icmp ult i64 %y, 3
    %number = zext i1 %less to i32
    %one = select i1 %less, i64 %mask, i64 5)"),
      "mask1 more2 rest1 rest_more2 wide1 sum2 product2 top1 all1 part2 up2 either2 cut1 least1 ones1 less1 "
      "number1 one1");
}

TEST(StoredBytes, AllWhereItDoesNot) {
  EXPECT_EQ(bytes(R"(
    %signed = sext i8 %b to i64
    %difference = sub i64 1, 2
    %inverse = xor i64 1, -1
    %shifted = shl i32 1, %x
    %below = ashr i64 %y, 60
    %zero = urem i32 %x, 0)"),
            "signed8 difference8 inverse8 shifted4 below8 zero1");
}

// A program may break them, and goes on with what it has.
TEST(StoredBytes, PromisesAreNotBelieved) {
  EXPECT_EQ(bytes(R"(
    %flag = load i32, ptr %p, !range !{i32 0, i32 2}
    %sum = add nuw i32 %x, 1
    %half = lshr exact i32 %x, 1
    %wide = zext nneg i32 %x to i64)"),
            "flag4 sum4 half4 wide4");
}

TEST(StoredBytes, PhisThatNoLoopMakesLarger) {
  EXPECT_EQ(bytes(R"(
  start:
    br label %loop
  loop:
    %index = phi i64 [ 7, %start ], [ %next, %loop ]
    %count = phi i64 [ 7, %start ], [ %more, %loop ]
    %next = and i64 %y, 15
    %more = add i64 %count, 1
    br label %loop
  end:)"),
            "index1 count8 next1 more8");
}

}  // namespace
}  // namespace heddle
