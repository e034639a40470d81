// Fixture of the sharing tests: hand-written IR, a small effects table, verdicts as one letter for each access
// in the order they stand: "S" shared, "K" private stack, "H" private heap, "T" thread-local, "C" constant, "U"
// unreachable.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

#include "program/sharing.h"

namespace heddle {

inline constexpr const char* kTable = R"(
malloc: alloc(arg0)
realloc: realloc(0, arg1)
free: free(0)
pthread_create: sync thread_create(0,2,3) writes(0, 8) keeps(3)
pthread_exit: sync thread_exit keeps(0) noreturn
pthread_join: sync thread_join(0) writes(1, 8) yields(1, library)
__cxa_guard_acquire: sync guard_acquire(0)
__cxa_guard_release: sync guard_release(0)
pthread_setspecific: sync key_set keeps(1)
pthread_getspecific: sync key_get returns(library)
strlen: reads(0, string) pure
strtol: reads(0, string) yields(1, 0) pure
strchr: reads(0, string) returns(0) pure
getenv: reads(0, string) returns(library)
getline: yields(0, fresh) updates(1, 8) updates(2, object) input
wait_for: writes(0, ret*12) yields(0, library) input
setbuf: keeps(1)
register_all: keeps(varargs)
copy: reads(1, arg2) writes(0, arg2) pure
swap_blocks: updates(0, reachable) updates(1, reachable)
write: reads(1, arg2) input
read: writes(1, ret) input
qsort: updates(0, arg1*arg2) calls(3) pure
walk: reads(0, string) calls(1)
)";

inline constexpr const char* kDeclarations = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare void @pthread_exit(ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @__cxa_guard_acquire(ptr)
declare void @__cxa_guard_release(ptr)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @pthread_getspecific(i32)
declare i64 @strlen(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare ptr @strchr(ptr, i32)
declare ptr @getenv(ptr)
declare i64 @getline(ptr, ptr, ptr)
declare i32 @wait_for(ptr)
declare void @setbuf(ptr, ptr)
declare void @register_all(i32, ...)
declare void @copy(ptr, ptr, i64)
declare void @swap_blocks(ptr, ptr)
declare i64 @write(i32, ptr, i64)
declare i64 @read(i32, ptr, i64)
declare void @qsort(ptr, i64, i64, ptr)
declare void @walk(ptr, ptr)
declare void @unknown(ptr)
declare ptr @unknown_pointer()
declare i64 @unknown_number(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @llvm.threadlocal.address.p0(ptr)
declare void @llvm.va_start.p0(ptr)
declare <4 x ptr> @llvm.masked.load.v4p0.p0(ptr, i32, <4 x i1>, <4 x ptr>)
declare void @llvm.masked.scatter.v2i32.v2p0(<2 x i32>, <2 x ptr>, i32, <2 x i1>)
@global = global ptr null
@number = global i64 0
@message = constant [3 x i8] c"hi\00"
@local_to_thread = thread_local global ptr null
)";

class Analysed {
 public:
  explicit Analysed(const std::string& body, const SharingOptions& options = {}) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(kDeclarations + body, diagnostic, context_);
    if (module_ == nullptr) {
      std::string message;
      llvm::raw_string_ostream stream(message);
      diagnostic.print("test", stream);
      ADD_FAILURE() << message;
      return;
    }
    EffectsTable table;
    const Result<void> added = table.add(kTable, "test table");
    EXPECT_TRUE(added) << added.error().text();
    result = analyse_sharing(*module_, table, options);
  }

  std::string verdicts(const std::string& function = "") const {
    std::string text;
    for (const Access& access : result.accesses) {
      if (!function.empty() && access.instruction->getFunction()->getName() != function) continue;
      text += "SKHTCU"[static_cast<size_t>(access.sharing)];
    }
    return text;
  }

  const llvm::Module& module() const { return *module_; }

  SharingResult result;

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

inline std::string verdicts(const std::string& body, const SharingOptions& options = {}) {
  return Analysed(body, options).verdicts();
}

}  // namespace heddle
