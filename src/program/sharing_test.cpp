// Verdicts of the sharing analysis on hand-written IR, one rule at a time. Accesses are named by the order they
// stand in; "S" shared, "K" private stack, "H" private heap, "T" thread-local, "C" constant, "U" unreachable.
// Programs from C and C++ source are in sharing_source_test.cpp; random programs in test/model/sharing_oracle.
#include "program/sharing.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

namespace heddle {
namespace {

constexpr const char* kTable = R"(
malloc: alloc(arg0)
realloc: realloc(0, arg1)
free: free(0)
pthread_create: sync thread_create(0,2,3) writes(0, 8) keeps(3)
pthread_exit: sync thread_exit keeps(0) noreturn
pthread_join: sync thread_join(0) writes(1, 8) yields(1, library)
pthread_setspecific: sync key_set keeps(1)
pthread_getspecific: sync key_get returns(library)
strlen: reads(0, string) pure
strtol: reads(0, string) yields(1, 0) pure
strchr: reads(0, string) returns(0) pure
getenv: reads(0, string) returns(library)
getline: yields(0, fresh) updates(1, 8) updates(2, object) input
setbuf: keeps(1)
register_all: keeps(varargs)
copy: reads(1, arg2) writes(0, arg2) pure
swap_blocks: updates(0, reachable) updates(1, reachable)
write: reads(1, arg2) input
read: writes(1, ret) input
qsort: updates(0, arg1*arg2) calls(3) pure
walk: reads(0, string) calls(1)
)";

constexpr const char* kDeclarations = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare void @pthread_exit(ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @pthread_getspecific(i32)
declare i64 @strlen(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare ptr @strchr(ptr, i32)
declare ptr @getenv(ptr)
declare i64 @getline(ptr, ptr, ptr)
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

  SharingResult result;

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

std::string verdicts(const std::string& body, const SharingOptions& options = {}) {
  return Analysed(body, options).verdicts();
}

TEST(Sharing, EachReason) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %stack = alloca ptr
    %heap = call ptr @malloc(i64 8)
    %tls = call ptr @llvm.threadlocal.address.p0(ptr @local_to_thread)
    store ptr %heap, ptr %stack
    store i32 1, ptr %heap
    %a = load ptr, ptr %tls
    %b = load i8, ptr @message
    store i32 1, ptr null
    %c = load ptr, ptr @global
    ret void
  })"), "KHTCUS");
}

TEST(Sharing, CountsAddUp) {
  const Analysed analysed("define void @f(ptr %p) {\n %s = alloca i32\n store i32 0, ptr %s\n store i32 0, ptr @global\n ret void }");
  EXPECT_EQ(analysed.result.accesses.size(), 2u);
  EXPECT_EQ(analysed.result.counts[static_cast<size_t>(Sharing::private_stack)], 1u);
  EXPECT_EQ(analysed.result.counts[static_cast<size_t>(Sharing::shared)], 1u);
}

TEST(Sharing, VolatileAndAtomicFollowTheSameRule) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %s = alloca i64
    store volatile i64 1, ptr %s
    %a = atomicrmw add ptr %s, i64 1 seq_cst
    %b = cmpxchg ptr %s, i64 1, i64 2 seq_cst seq_cst
    %c = atomicrmw add ptr @number, i64 1 seq_cst
    ret void
  })"), "KKKS");
}

TEST(Sharing, GlobalMakesAllBehindItShared) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = call ptr @malloc(i64 8)
    %b = call ptr @malloc(i64 8)
    %c = call ptr @malloc(i64 8)
    store ptr %b, ptr %a
    store ptr %a, ptr @global
    store i32 1, ptr %b
    store i32 1, ptr %c
    ret void
  })"), "SSSH");
}

TEST(Sharing, FieldsPhiSelectFreeze) {
  EXPECT_EQ(verdicts(R"(define void @f(i1 %x) {
    %a = alloca [4 x ptr]
    %b = alloca ptr
    br i1 %x, label %l, label %m
  l:
    br label %m
  m:
    %p = phi ptr [%a, %0], [%b, %l]
    %q = select i1 %x, ptr %p, ptr null
    %r = freeze ptr %q
    %s = getelementptr ptr, ptr %r, i64 2
    store ptr %s, ptr @global
    store i32 1, ptr %a
    store i32 1, ptr %b
    ret void
  })"), "SSS");
}

TEST(Sharing, AggregatesAndVectors) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %b = alloca i32
    %c = alloca i32
    %s = insertvalue {ptr, i32} undef, ptr %a, 0
    %t = extractvalue {ptr, i32} %s, 0
    store ptr %t, ptr @global
    %u = insertelement <2 x ptr> undef, ptr %b, i32 0
    %v = shufflevector <2 x ptr> %u, <2 x ptr> undef, <2 x i32> <i32 1, i32 0>
    %w = extractelement <2 x ptr> %v, i32 1
    store ptr %w, ptr @global
    store i32 1, ptr %a
    store i32 1, ptr %b
    store i32 1, ptr %c
    ret void
  })"), "SSSSK");
}

TEST(Sharing, IntegersCarryPointers) {
  // Tags, shifts, alignment, and back.
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %i = ptrtoint ptr %a to i64
    %t = or i64 %i, 1
    %u = shl i64 %t, 16
    %v = ashr i64 %u, 16
    %w = udiv i64 %v, 8
    %x = mul i64 %w, 8
    %y = sub i64 %x, 1
    store i64 %y, ptr @number
    store i32 1, ptr %a
    ret void
  })"), "SS");
}

TEST(Sharing, DifferenceOfPointersIsANumber) {
  EXPECT_EQ(verdicts(R"(define void @f(ptr %x) {
    %a = alloca i32
    %b = alloca i32
    %i = ptrtoint ptr %a to i64
    %j = ptrtoint ptr %b to i64
    %d = sub i64 %i, %j
    store i64 %d, ptr @number
    store i32 1, ptr %a
    ret void
  })"), "SK");
}

TEST(Sharing, NumbersDoNotMergeWhatTheyLieBeside) {
  // A counter copied into a private node must not make what the node points to shared.
  EXPECT_EQ(verdicts(R"(define void @f() {
    %node = call ptr @malloc(i64 16)
    %next = call ptr @malloc(i64 16)
    %link = getelementptr i8, ptr %node, i64 8
    store ptr %next, ptr %link
    %n = load i64, ptr @number
    %m = add i64 %n, 1
    store i64 %m, ptr %node
    store i32 1, ptr %next
    ret void
  })"), "HSHH");
}

TEST(Sharing, PointerReadAsNumber) {
  // How clang copies a pointer-sized union.
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %u = alloca ptr
    %v = alloca double
    store ptr %a, ptr %u
    %x = load double, ptr %u
    store double %x, ptr %v
    %y = load i64, ptr %v
    store i64 %y, ptr @number
    store i32 1, ptr %a
    ret void
  })"), "KKKKSS");
}

TEST(Sharing, AtomicExchangeMovesPointers) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %b = alloca i32
    %c = alloca i32
    %i = ptrtoint ptr %a to i64
    %o = atomicrmw xchg ptr @global, i64 %i seq_cst
    %r = cmpxchg ptr @global, ptr null, ptr %b seq_cst seq_cst
    %s = cmpxchg ptr @global, ptr %c, ptr null seq_cst seq_cst
    store i32 1, ptr %a
    store i32 1, ptr %b
    ret void
  })"), "SSSSS");
}

TEST(Sharing, MemcpyCopiesPointers) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca [2 x ptr]
    store ptr %a, ptr %s
    call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %s, i64 8, i1 false)
    store i32 1, ptr %a
    ret void
  })"), "KKSS");
}

TEST(Sharing, MemoryIntrinsicsAreAccesses) {
  const Analysed analysed(R"(define void @f(i64 %n, <4 x i1> %m, <2 x ptr> %p, <2 x i1> %k) {
    %a = alloca [32 x i8]
    call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %a, i64 8, i1 false)
    call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 false)
    %v = call <4 x ptr> @llvm.masked.load.v4p0.p0(ptr %a, i32 8, <4 x i1> %m, <4 x ptr> undef)
    call void @llvm.masked.scatter.v2i32.v2p0(<2 x i32> zeroinitializer, <2 x ptr> %p, i32 4, <2 x i1> %k)
    call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 0, i1 false)
    ret void
  })");
  EXPECT_EQ(analysed.verdicts(), "KSKKS");
  const auto& accesses = analysed.result.accesses;
  EXPECT_EQ(accesses[0].kind, AccessKind::read);
  EXPECT_EQ(accesses[0].size, 8u);
  EXPECT_EQ(accesses[1].kind, AccessKind::write);
  EXPECT_EQ(accesses[2].size, 0u);
  EXPECT_EQ(accesses[3].size, 32u);
  EXPECT_EQ(accesses[4].size, 8u);
}

TEST(Sharing, MaskedLoadAndScatterCarryPointers) {
  EXPECT_EQ(verdicts(R"(define void @f(<4 x i1> %m) {
    %a = alloca i32
    %s = alloca [4 x ptr]
    store ptr %a, ptr %s
    %v = call <4 x ptr> @llvm.masked.load.v4p0.p0(ptr %s, i32 8, <4 x i1> %m, <4 x ptr> undef)
    %e = extractelement <4 x ptr> %v, i32 0
    store ptr %e, ptr @global
    store i32 1, ptr %a
    ret void
  })"), "KKSS");
}

TEST(Sharing, HelperFunctionsThatDoNotLeak) {
  EXPECT_EQ(verdicts(R"(
  define internal void @fill(ptr %p) { store i32 1, ptr %p  ret void }
  define internal ptr @same(ptr %p) { ret ptr %p }
  define void @f() {
    %a = call ptr @malloc(i64 4)
    call void @fill(ptr %a)
    %b = call ptr @same(ptr %a)
    %c = load i32, ptr %b
    ret void
  })"), "HH");
}

TEST(Sharing, HelperThatLeaks) {
  EXPECT_EQ(verdicts(R"(
  define internal void @push(ptr %p) { store ptr %p, ptr @global  ret void }
  define void @f() {
    %a = alloca i32
    store i32 1, ptr %a
    call void @push(ptr %a)
    ret void
  })"), "SS");
}

TEST(Sharing, ByValueCopiesTheObject) {
  EXPECT_EQ(verdicts(R"(
  define internal void @g(ptr byval([4 x ptr]) %p) {
    %q = load ptr, ptr %p
    store ptr %q, ptr @global
    store ptr null, ptr %p
    ret void
  }
  define void @f() {
    %a = alloca i32
    %s = alloca [4 x ptr]
    store ptr %a, ptr %s
    store i32 1, ptr %a
    call void @g(ptr byval([4 x ptr]) %s)
    ret void
  })"), "KSKKS");
}

TEST(Sharing, ThreadArgumentIsShared) {
  EXPECT_EQ(verdicts(R"(
  define internal ptr @start(ptr %p) { store i32 1, ptr %p  ret ptr null }
  define void @f() {
    %t = alloca i64
    %a = alloca i32
    %b = alloca i32
    store i32 1, ptr %a
    store i32 1, ptr %b
    %r = call i32 @pthread_create(ptr %t, ptr null, ptr @start, ptr %a)
    %u = load i64, ptr %t
    ret void
  })"), "SSKK");
}

TEST(Sharing, ThreadStartThroughPointer) {
  EXPECT_EQ(verdicts(R"(
  @starts = constant [1 x ptr] [ptr @start]
  define internal ptr @start(ptr %p) { store i32 1, ptr %p  ret ptr %p }
  define void @f(i64 %i) {
    %a = call ptr @malloc(i64 4)
    %e = getelementptr ptr, ptr @starts, i64 %i
    %s = load ptr, ptr %e
    %r = call i32 @pthread_create(ptr null, ptr null, ptr %s, ptr %a)
    ret void
  })"), "SC");
}

TEST(Sharing, ThreadResultIsShared) {
  EXPECT_EQ(verdicts(R"(
  define internal ptr @start(ptr %p) {
    %m = call ptr @malloc(i64 4)
    store i32 1, ptr %m
    %x = call ptr @malloc(i64 4)
    store i32 1, ptr %x
    call void @pthread_exit(ptr %x)
    ret ptr %m
  }
  define void @f() {
    %v = alloca ptr
    %r = call i32 @pthread_create(ptr null, ptr null, ptr @start, ptr null)
    %j = call i32 @pthread_join(i64 0, ptr %v)
    %p = load ptr, ptr %v
    store i32 1, ptr %p
    ret void
  })"), "SSKS");
}

TEST(Sharing, UnknownExternals) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %b = alloca i32
    %s = alloca ptr
    store ptr %b, ptr %s
    call void @unknown(ptr %s)
    store i32 1, ptr %a
    store i32 1, ptr %b
    %p = call ptr @unknown_pointer()
    store i32 1, ptr %p
    %n = call i64 @unknown_number(i64 7)
    %q = inttoptr i64 %n to ptr
    store i32 1, ptr %q
    ret void
  })"), "SKSSS");
}

TEST(Sharing, InlineAssembly) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %b = alloca i64
    %t = call i64 asm sideeffect "rdtsc", "=r"()
    store i64 %t, ptr %b
    call void asm sideeffect "", "r,~{memory}"(ptr %a)
    store i32 1, ptr %a
    ret void
  })"), "KS");
}

TEST(Sharing, KnownExternals) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca [8 x i8]
    %b = alloca [8 x i8]
    %e = alloca ptr
    %l = alloca ptr
    %k = alloca [8 x i8]
    %v = alloca [8 x i8]
    %n = call i64 @strlen(ptr %a)
    store i8 1, ptr %a
    %c = call ptr @strchr(ptr %b, i32 0)
    store i8 1, ptr %c
    %m = call i64 @strtol(ptr %b, ptr %e, i32 0)
    %f = load ptr, ptr %e
    store i8 1, ptr %f
    %g = call i64 @getline(ptr %l, ptr null, ptr null)
    %h = load ptr, ptr %l
    store i8 1, ptr %h
    %i = call ptr @getenv(ptr %a)
    store i8 1, ptr %i
    call void @setbuf(ptr null, ptr %k)
    store i8 1, ptr %k
    call void (i32, ...) @register_all(i32 1, ptr %v)
    store i8 1, ptr %v
    ret void
  })"), "KKKKKHSSS");
}

TEST(Sharing, KnownExternalsMovePointersBetweenArguments) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca ptr
    store ptr %a, ptr %s
    call void @copy(ptr @global, ptr %s, i64 8)
    store i32 1, ptr %a
    ret void
  }
  define void @g() {
    %a = alloca i32
    %s = alloca ptr
    store ptr %a, ptr %s
    call void @swap_blocks(ptr %s, ptr @global)
    store i32 1, ptr %a
    ret void
  })"), "KSKS");
}

TEST(Sharing, PointersThroughAPipe) {
  EXPECT_EQ(verdicts(R"(define void @send() {
    %a = call ptr @malloc(i64 4)
    %s = alloca ptr
    store ptr %a, ptr %s
    %n = call i64 @write(i32 1, ptr %s, i64 8)
    store i32 1, ptr %a
    ret void
  }
  define void @receive() {
    %s = alloca ptr
    %n = call i64 @read(i32 0, ptr %s, i64 8)
    %p = load ptr, ptr %s
    store i32 1, ptr %p
    ret void
  })"), "KSKS");
}

TEST(Sharing, InputWithoutPointersGoingOut) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %h = call ptr @malloc(i64 16)
    %d = call ptr @malloc(i64 16)
    store ptr %d, ptr %h
    %n = call i64 @read(i32 0, ptr %h, i64 8)
    store i32 1, ptr %d
    ret void
  })"), "HH");
}

TEST(Sharing, Realloc) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = call ptr @malloc(i64 4)
    %b = call ptr @realloc(ptr %a, i64 8)
    store i32 1, ptr %b
    %c = call ptr @malloc(i64 4)
    %d = call ptr @realloc(ptr %c, i64 8)
    store ptr %d, ptr @global
    store i32 1, ptr %c
    ret void
  })"), "HSS");
}

TEST(Sharing, ThreadSpecificData) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = call ptr @malloc(i64 4)
    %r = call i32 @pthread_setspecific(i32 0, ptr %a)
    store i32 1, ptr %a
    %b = call ptr @pthread_getspecific(i32 0)
    store i32 1, ptr %b
    ret void
  })"), "SS");
}

TEST(Sharing, ThreadLocalVariables) {
  EXPECT_EQ(verdicts(R"(
  @published = internal thread_local global i32 0
  @kept = internal thread_local global i32 0
  define void @f() {
    %p = call ptr @llvm.threadlocal.address.p0(ptr @published)
    %k = call ptr @llvm.threadlocal.address.p0(ptr @kept)
    store ptr %p, ptr @global
    store i32 1, ptr %p
    store i32 1, ptr %k
    store i32 1, ptr @kept
    ret void
  })"), "SSTT");
}

TEST(Sharing, ConstantTablesCarryPointers) {
  EXPECT_EQ(verdicts(R"(
  @cell = internal global i32 0
  @table = internal constant {i32, [1 x ptr]} {i32 1, [1 x ptr] [ptr @cell]}
  @pointer = global ptr @message
  define void @f(i64 %i) {
    %e = getelementptr i8, ptr @table, i64 %i
    %p = load ptr, ptr %e
    store i32 1, ptr %p
    %m = load ptr, ptr @pointer
    %c = load i8, ptr %m
    %q = select i1 true, ptr %m, ptr @message
    store i8 0, ptr %q
    ret void
  })"), "CSSCS");
}

TEST(Sharing, InvariantLoad) {
  EXPECT_EQ(verdicts("define void @f() {\n %a = load ptr, ptr @global, !invariant.load !0\n ret void }\n!0 = !{}"), "C");
}

TEST(Sharing, IndirectCallsFollowTheClass) {
  const Analysed analysed(R"(
  define internal void @quiet(ptr %p) { store i32 1, ptr %p  ret void }
  define internal void @leaky(ptr %p) { store ptr %p, ptr @global  ret void }
  define void @f(i1 %x) {
    %a = call ptr @malloc(i64 4)
    %q = select i1 %x, ptr @quiet, ptr null
    call void %q(ptr %a)
    store i32 1, ptr %a
    ret void
  }
  define void @g(i1 %x) {
    %a = call ptr @malloc(i64 4)
    %q = select i1 %x, ptr @leaky, ptr null
    call void %q(ptr %a)
    store i32 1, ptr %a
    ret void
  })");
  EXPECT_EQ(analysed.verdicts("f"), "H");
  EXPECT_EQ(analysed.verdicts("quiet"), "H");
  EXPECT_EQ(analysed.verdicts("g"), "S");
}

TEST(Sharing, IndirectCallsOfLibraryFunctions) {
  EXPECT_EQ(verdicts(R"(
  @operations = constant [2 x ptr] [ptr @malloc, ptr @setbuf]
  define void @f(i1 %x, i64 %i) {
    %a = alloca i32
    %b = alloca i32
    %g = select i1 %x, ptr @strlen, ptr null
    %n = call i64 %g(ptr %a)
    store i32 1, ptr %a
    %h = select i1 %x, ptr @unknown, ptr null
    call void %h(ptr %b)
    store i32 1, ptr %b
    ret void
  })"), "KS");
}

TEST(Sharing, CallThroughForeignPointer) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %g = call ptr @unknown_pointer()
    %r = call ptr %g(ptr %a)
    store i32 1, ptr %a
    store i32 1, ptr %r
    ret void
  })"), "SS");
}

TEST(Sharing, CallbacksGetTheOtherArguments) {
  EXPECT_EQ(verdicts(R"(
  define internal i32 @compare(ptr %a, ptr %b) {
    %x = load i32, ptr %a
    %y = load i32, ptr %b
    ret i32 0
  }
  define internal void @visit(ptr %a) { store i32 1, ptr %a  ret void }
  define void @f() {
    %a = alloca [4 x i32]
    call void @qsort(ptr %a, i64 4, i64 4, ptr @compare)
    store i32 1, ptr %a
    call void @walk(ptr null, ptr @visit)
    ret void
  })"), "KKSK");
}

TEST(Sharing, ForeignCodeCallsWhatItKnows) {
  const std::string program = R"(
  define void @handler(ptr %p) { store i32 1, ptr %p  ret void }
  define void @visible(ptr %p) { store i32 1, ptr %p  ret void }
  define internal void @hidden(ptr %p) { store i32 1, ptr %p  ret void }
  define void @f() {
    %a = alloca i32
    %b = alloca i32
    call void @unknown(ptr @handler)
    call void @visible(ptr %a)
    call void @hidden(ptr %b)
    ret void
  })";
  EXPECT_EQ(verdicts(program), "SKK");
  EXPECT_EQ(verdicts(program, {.foreign_callers = true}), "SSK");
}

TEST(Sharing, MainGetsForeignMemory) {
  EXPECT_EQ(verdicts(R"(define i32 @main(i32 %n, ptr %v) {
    %p = load ptr, ptr %v
    %c = load i8, ptr %p
    ret i32 0
  })"), "SS");
}

TEST(Sharing, AliasesAndIfuncs) {
  EXPECT_EQ(verdicts(R"(
  @other = alias ptr, ptr @global
  @alias = alias void (ptr), ptr @push
  @chosen = ifunc void (ptr), ptr @resolve
  define void @push(ptr %p) { store ptr %p, ptr @other  ret void }
  define ptr @resolve() { ret ptr @push }
  define void @f() {
    %a = alloca i32
    %b = alloca i32
    store i32 1, ptr %a
    store i32 1, ptr %b
    call void @alias(ptr %a)
    call void @chosen(ptr %b)
    ret void
  })"), "SSS");
}

TEST(Sharing, VariadicArguments) {
  EXPECT_EQ(verdicts(R"(
  %list = type {i32, i32, ptr, ptr}
  define internal void @g(i32 %n, ...) {
    %l = alloca %list
    call void @llvm.va_start.p0(ptr %l)
    %f = getelementptr %list, ptr %l, i64 0, i32 2
    %area = load ptr, ptr %f
    %p = load ptr, ptr %area
    store ptr %p, ptr @global
    ret void
  }
  define void @f() {
    %a = alloca i32
    store i32 1, ptr %a
    call void (i32, ...) @g(i32 1, ptr %a)
    ret void
  })"), "KKSS");
}

TEST(Sharing, ByteLoopCopiesPointers) {
  const std::string loop = R"(
  define void @f() {
    %a = alloca i32
    %s = alloca ptr
    store ptr %a, ptr %s
    br label %l
  l:
    %i = phi i64 [0, %0], [%j, %l]
    %from = getelementptr i8, ptr %s, i64 %i
    %to = getelementptr i8, ptr @global, i64 %i
    %b = load i8, ptr %from
    store i8 %b, ptr %to
    %j = add i64 %i, 1
    %c = icmp eq i64 %j, 8
    br i1 %c, label %e, label %l
  e:
    store i32 1, ptr %a
    ret void
  })";
  EXPECT_EQ(verdicts(loop), "KKSS");
}

TEST(Sharing, FieldCopyDoesNot) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca {ptr, i32}
    store ptr %a, ptr %s
    %f = getelementptr {ptr, i32}, ptr %s, i64 0, i32 1
    %n = load i32, ptr %f
    %g = getelementptr {ptr, i32}, ptr @global, i64 0, i32 1
    store i32 %n, ptr %g
    store i32 1, ptr %a
    ret void
  })"), "KKSK");
}

TEST(Sharing, UnrolledCopyOfWholePointer) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca [2 x ptr]
    store ptr %a, ptr %s
    %f0 = getelementptr i8, ptr %s, i64 8
    %f4 = getelementptr i8, ptr %s, i64 12
    %x = load i32, ptr %f0
    %y = load i32, ptr %f4
    %t4 = getelementptr i8, ptr @global, i64 4
    store i32 %x, ptr @global
    store i32 %y, ptr %t4
    store i32 1, ptr %a
    ret void
  })"), "KKKSSS");
}

TEST(Sharing, SerialisedPointer) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %k) {
    %a = alloca i32
    %i = ptrtoint ptr %a to i64
    %s = lshr i64 %i, %k
    %b = trunc i64 %s to i8
    store i8 %b, ptr @global
    %c = load i8, ptr @global
    %z = zext i8 %c to i64
    %w = shl i64 %z, %k
    %p = inttoptr i64 %w to ptr
    store i32 1, ptr %p
    store i32 1, ptr %a
    ret void
  })"), "SSSS");
}

TEST(Sharing, UncapturedObjectInMergedClass) {
  // %a and %b meet in one class, but %b's own address goes nowhere.
  EXPECT_EQ(verdicts(R"(define void @f(i1 %x) {
    %a = alloca i32
    %b = alloca i32
    %p = select i1 %x, ptr %a, ptr %b
    store i32 1, ptr %p
    store ptr %a, ptr @global
    store i32 1, ptr %a
    store i32 1, ptr %b
    ret void
  })"), "SSSK");
}

TEST(Sharing, WrapperOfMallocHasOneObjectPerCall) {
  const std::string program = R"(
  define internal noalias ptr @make(ptr %p) {
    %m = call ptr @malloc(i64 8)
    store ptr %p, ptr %m
    ret ptr %m
  }
  define void @f() {
    %a = call ptr @make(ptr null)
    store i32 1, ptr %a
  )";
  EXPECT_EQ(verdicts(program + "ret void }"), "HH");
  // The wrapper fills in the object that is shared later: not private there. The other call's object still is.
  EXPECT_EQ(verdicts(program + R"(
    %x = alloca i32
    %b = call ptr @make(ptr %x)
    store ptr %b, ptr @global
    store i32 1, ptr %b
    store i32 1, ptr %x
    ret void })"), "SHSSS");
}

TEST(Sharing, ExceptionsStayInTheirThread) {
  const std::string program = R"(
  declare ptr @__cxa_allocate_exception(i64)
  declare void @__cxa_throw(ptr, ptr, ptr)
  declare ptr @__cxa_begin_catch(ptr)
  declare i32 @__gxx_personality_v0(...)
  @type = external constant ptr
  define void @f() personality ptr @__gxx_personality_v0 {
    %e = call ptr @__cxa_allocate_exception(i64 8)
    %h = call ptr @malloc(i64 4)
    store ptr %h, ptr %e
    invoke void @__cxa_throw(ptr %e, ptr @type, ptr null) to label %n unwind label %u
  n:
    unreachable
  u:
    %l = landingpad {ptr, i32} catch ptr null
    %x = extractvalue {ptr, i32} %l, 0
    %o = call ptr @__cxa_begin_catch(ptr %x)
    %p = load ptr, ptr %o
    store i32 1, ptr %p
    ret void
  })";
  EXPECT_EQ(verdicts(program), "HHH");
  EXPECT_EQ(verdicts(program + "declare void @_ZSt17current_exceptionv(ptr)"), "SSS");
}

TEST(Sharing, RuntimeOfTheLanguage) {
  EXPECT_EQ(verdicts(R"(
  declare ptr @__errno_location()
  declare i32 @__cxa_thread_atexit(ptr, ptr, ptr)
  @object = internal thread_local global ptr null
  define internal void @destroy(ptr %p) { store ptr null, ptr %p  ret void }
  define void @f() {
    %e = call ptr @__errno_location()
    store i32 0, ptr %e
    %t = call ptr @llvm.threadlocal.address.p0(ptr @object)
    %r = call i32 @__cxa_thread_atexit(ptr @destroy, ptr %t, ptr null)
    store ptr null, ptr %t
    ret void
  })"), "TTT");
}

TEST(Sharing, TablesOfLibraryClasses) {
  // A pointer to a library's virtual table alone does not make the object shared; a call through it does.
  const std::string program = R"(
  @_ZTVSt9exception = external constant {[5 x ptr]}
  define void @f() {
    %o = call ptr @malloc(i64 16)
    store ptr getelementptr (i8, ptr @_ZTVSt9exception, i64 16), ptr %o
    %f = getelementptr i8, ptr %o, i64 8
    store ptr %o, ptr %f
    %v = load ptr, ptr %o
  )";
  EXPECT_EQ(verdicts(program + "ret void }"), "HHH");
  EXPECT_EQ(verdicts(program + "%m = load ptr, ptr %v\n call void %m(ptr %o)\n ret void }"), "SSSS");
}

TEST(Sharing, ExternalVariablesAreForeign) {
  EXPECT_EQ(verdicts(R"(
  @environ = external global ptr
  @outside = external thread_local global i32
  define void @f() {
    %a = alloca i32
    store ptr %a, ptr @environ
    store i32 1, ptr %a
    %t = call ptr @llvm.threadlocal.address.p0(ptr @outside)
    store i32 1, ptr %t
    ret void
  })"), "SSS");
}

TEST(Sharing, AddressWrittenAsANumber) {
  EXPECT_EQ(verdicts(R"(define void @f(ptr %never) {
    store i32 1, ptr inttoptr (i64 4096 to ptr)
    store i32 1, ptr undef
    store i32 1, ptr %never
    ret void
  })"), "SUS");
}

TEST(Sharing, CompilerListsDoNotMerge) {
  EXPECT_EQ(verdicts(R"(
  @llvm.used = appending global [1 x ptr] [ptr @callback], section "llvm.metadata"
  @llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} {i32 1, ptr @start, ptr null}]
  define internal void @callback(ptr %p) { store i32 1, ptr %p  ret void }
  define internal void @start() {
    %a = alloca i32
    call void @callback(ptr %a)
    ret void
  })"), "K");
}

}  // namespace
}  // namespace heddle
