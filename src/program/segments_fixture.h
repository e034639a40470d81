// Functions for the tests of segments: parsed from text, checked with the oracles of segments_oracle.h.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

#include "program/segments_oracle.h"

namespace heddle {

class SegmentsTest : public testing::Test {
 protected:
  llvm::Function& parse(const std::string& body) {
    std::string text = R"(
      declare void @plain()
      declare void @cut()
      declare i32 @twice(ptr) returns_twice
      declare void @llvm.donothing()
      declare i32 @llvm.eh.sjlj.setjmp(ptr)
      declare i32 @__gxx_personality_v0(...)
      !0 = !{!"branch_weights", i32 1, i32 2000}
      !1 = !{!"branch_weights", i32 74, i32 24}
      !2 = !{!"branch_weights", i32 73, i32 24}
      !3 = !{!"branch_weights", i32 1, i32 2000, i32 1, i32 1, i32 1}
      define void @test(i1 %c, i32 %x, ptr %p) personality ptr @__gxx_personality_v0 {
    )" + body + "}\n";
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(text, error, context_);
    if (module_ == nullptr) {
      ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineNo();
      std::abort();
    }
    return *module_->getFunction("test");
  }
  // Numbers the function after checking it with the oracles.
  segments_oracle::Numbered number(const std::string& body, const segments_oracle::Settings& settings = {}) {
    using namespace segments_oracle;
    const llvm::Function& function = parse(body);
    check_all(function, settings);
    for (uint64_t max : {uint64_t{1} << 24, uint64_t{4}, uint64_t{0}}) {
      for (bool plain : {false, true}) check_all(function, {.plain = plain, .max_ways = max});
    }
    return Numbered(function, settings);
  }
  llvm::Function* get(const char* name) { return module_->getFunction(name); }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

}  // namespace heddle
