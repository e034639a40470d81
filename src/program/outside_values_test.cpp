#include "program/outside_values.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <map>
#include <string>

namespace heddle {
namespace {

// Bytes of the named values of @f that are told.
std::map<std::string, unsigned> told(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str();
  std::map<std::string, unsigned> out;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f")))
    if (const unsigned bytes = outside_value_bytes(instruction)) out[instruction.getName().str()] = bytes;
  return out;
}

using Told = std::map<std::string, unsigned>;

TEST(OutsideValues, StackObjectsThatAreOnlyAccessedMayLieAnywhere) {
  EXPECT_EQ(told(R"(
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @f(i64 %i) {
  %a = alloca [8 x i32]
  %b = alloca i32
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 32, i1 false)
  %at = getelementptr [8 x i32], ptr %a, i64 0, i64 %i
  %x = load i32, ptr %at
  store i32 %x, ptr %b
  %old = atomicrmw add ptr %b, i32 1 seq_cst
  ret i32 %old
})"),
            Told());
}

TEST(OutsideValues, AddressesThatGoAnywhereAreTold) {
  EXPECT_EQ(told(R"(
declare void @use(ptr)
define ptr @f(i1 %c, ptr %p, i64 %n) {
  %passed = alloca [4 x i32]
  %stored = alloca i32
  %chosen = alloca i32
  %numbered = alloca i32
  %returned = alloca i8, i64 %n
  %own = alloca ptr
  %inner = getelementptr i32, ptr %passed, i64 1
  call void @use(ptr %inner)
  store ptr %stored, ptr %own
  %choice = select i1 %c, ptr %chosen, ptr %p
  %number = ptrtoint ptr %numbered to i64
  store i64 %number, ptr %p
  ret ptr %returned
})"),
            (Told{{"passed", 4}, {"stored", 4}, {"chosen", 4}, {"numbered", 4}, {"returned", 4}}));
}

TEST(OutsideValues, WhatTheMachineSaysIsTold) {
  EXPECT_EQ(told(R"(
declare i64 @llvm.readcyclecounter()
declare ptr @llvm.frameaddress.p0(i32)
declare i64 @llvm.ctpop.i64(i64)
define void @f() {
  %clock = call i64 @llvm.readcyclecounter()
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %flag = call i8 asm sideeffect "setz $0", "=r"()
  call void asm sideeffect "nop", ""()
  %pair = call { i32, i32 } asm sideeffect "cpuid", "={ax},={dx}"()
  %computed = call i64 @llvm.ctpop.i64(i64 %clock)
  ret void
})"),
            (Told{{"clock", 8}, {"frame", 8}, {"flag", 1}}));
}

}  // namespace
}  // namespace heddle
