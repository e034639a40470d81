// Verdicts on hand-written IR: objects, values, ways to carry a pointer. Calls are in sharing_calls_test.cpp,
// what leaves the program in sharing_external_test.cpp, C and C++ source in sharing_source_test.cpp, random
// programs in test/model/sharing_oracle.
#include "program/sharing_fixture.h"

namespace heddle {
namespace {

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
  })"),
            "KHTCUS");
}

TEST(Sharing, CountsAddUp) {
  const Analysed analysed(
      "define void @f(ptr %p) {\n %s = alloca i32\n store i32 0, ptr %s\n store i32 0, ptr @global\n ret void "
      "}");
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
  })"),
            "KKKS");
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
  })"),
            "SSSH");
}

// What gives memory that is private, in the order of the calls: "p", the others "s".
std::string allocations(const char* function) {
  const Analysed analysed(function);
  std::string found;
  for (const llvm::Function& each : analysed.module())
    for (const llvm::BasicBlock& block : each)
      for (const llvm::Instruction& instruction : block)
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
          found += analysed.result.private_allocations.contains(call) ? 'p' : 's';
  return found;
}

TEST(Sharing, PrivateAllocations) {
  EXPECT_EQ(allocations(R"(define void @f() {
    %a = call ptr @malloc(i64 8)
    %b = call ptr @malloc(i64 8)
    %c = call ptr @realloc(ptr %b, i64 8)
    store ptr %a, ptr @global
    %line = alloca ptr
    %size = alloca i64
    %d = call i64 @getline(ptr %line, ptr %size, ptr null)
    %e = call i64 @getline(ptr @global, ptr %size, ptr null)
    %f = call ptr @malloc(i64 8)
    call void @unknown(ptr %f)
    %g = call ptr @realloc(ptr %f, i64 8)
    ret void
  })"),
            "spppssss");
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
  })"),
            "SSS");
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
  })"),
            "SSSSK");
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
  })"),
            "SS");
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
  })"),
            "SK");
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
  })"),
            "HSHH");
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
  })"),
            "KKKKSS");
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
  })"),
            "SSSSS");
}

TEST(Sharing, MemcpyCopiesPointers) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca [2 x ptr]
    store ptr %a, ptr %s
    call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %s, i64 8, i1 false)
    store i32 1, ptr %a
    ret void
  })"),
            "KKSS");
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
  })"),
            "KKSS");
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
  })"),
            "CSSCS");
}

TEST(Sharing, InvariantLoad) {
  EXPECT_EQ(
      verdicts("define void @f() {\n %a = load ptr, ptr @global, !invariant.load !0\n ret void }\n!0 = !{}"),
      "C");
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
  })"),
            "KKSK");
}

TEST(Sharing, UnrolledCopyOfWholePointer) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %s = alloca [2 x ptr]
    %f0 = getelementptr i8, ptr %s, i64 8
    store ptr %a, ptr %f0
    %f4 = getelementptr i8, ptr %s, i64 12
    %x = load i32, ptr %f0
    %y = load i32, ptr %f4
    %t4 = getelementptr i8, ptr @global, i64 4
    store i32 %x, ptr @global
    store i32 %y, ptr %t4
    store i32 1, ptr %a
    ret void
  })"),
            "KKKSSS");
}

// As std::string with its short text inside. What is copied is text.
TEST(Sharing, ObjectThatHoldsItsOwnAddress) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %n) {
    %s = alloca { ptr, i64, [16 x i8] }
    %text = getelementptr i8, ptr %s, i64 16
    store ptr %text, ptr %s
    %p = load ptr, ptr %s
    call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %p, i64 %n, i1 false)
    ret void
  })"),
            "KKKS");
}

TEST(Sharing, ObjectThatIsCopiedWithItsOwnAddress) {
  EXPECT_EQ(verdicts(R"(define void @f(i64 %n) {
    %s = alloca { ptr, i64, [16 x i8] }
    %text = getelementptr i8, ptr %s, i64 16
    store ptr %text, ptr %s
    call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %s, i64 %n, i1 false)
    ret void
  })"),
            "SSS");
}

// The array is walked through from its end, which is a constant.
TEST(Sharing, PointersReadBackwards) {
  EXPECT_EQ(verdicts(R"(define void @f(i1 %c) {
  entry:
    %a = alloca i32
    %s = alloca [4 x ptr]
    %third = getelementptr i8, ptr %s, i64 8
    store ptr %a, ptr %third
    %end = getelementptr i8, ptr %s, i64 32
    br label %loop
  loop:
    %p = phi ptr [ %end, %entry ], [ %q, %loop ]
    %q = getelementptr i8, ptr %p, i64 -8
    %x = load ptr, ptr %q
    store ptr %x, ptr @global
    br i1 %c, label %loop, label %done
  done:
    store i32 1, ptr %a
    ret void
  })"),
            "KKSS");
}

// A table of owners that is found from one of its places: a step back by bytes, in the forms that the optimiser
// gives it. What is found is published.
std::string published_by_step_back(const std::string& callers, const std::string& step) {
  return verdicts(callers + R"(define void @f(i64 %n, i1 %c) {
    %a = alloca i32
    %s = alloca { ptr, i64, [4 x { i64, i64, i64 }] }
    store ptr %a, ptr %s
    %place = getelementptr i8, ptr %s, i64 40
    )" + step + R"(
    %head = getelementptr i8, ptr %place, i64 %back
    %x = load ptr, ptr %head
    store ptr %x, ptr @global
    store i32 1, ptr %a
    ret void
  })");
}

TEST(Sharing, StepsBackByBytes) {
  for (const char* step :
       {"%back = sub i64 0, %n", "%back = mul i64 %n, -24", "%back = sub i64 -16, %n",
        "%m = mul i64 %n, -24\n %back = add i64 %m, -16", "%back = select i1 %c, i64 -40, i64 8",
        "%i = trunc i64 %n to i32\n %m = mul i32 %i, -24\n %back = sext i32 %m to i64",
        "%m = sub i64 0, %n\n %back = shl i64 %m, 3"})
    EXPECT_EQ(published_by_step_back("", step), "KKSS") << step;
}

TEST(Sharing, StepsBackThatCallersGive) {
  EXPECT_EQ(published_by_step_back("define void @g() {\n call void @f(i64 -40, i1 true)\n ret void }\n",
                                   "%back = add i64 %n, 0"),
            "KKSS");
}

TEST(Sharing, FunctionThatOnlyLooks) {
  EXPECT_EQ(verdicts(R"(define i32 @f(ptr %p) {
    %x = load i32, ptr %p
    ret i32 %x
  }
  define void @g() {
    %a = alloca i32
    %s = alloca ptr
    store ptr %a, ptr %s
    %p = load ptr, ptr %s
    store i32 1, ptr %p
    %x = call i32 @f(ptr %p)
    %y = call i32 @f(ptr @global)
    ret void
  })"),
            "SKKK");
}

TEST(Sharing, FunctionThatHandsOnWhatItLooksAt) {
  EXPECT_EQ(verdicts(R"(define void @f(ptr %p) {
    %x = load ptr, ptr %p
    store ptr %x, ptr @global
    ret void
  }
  define void @g() {
    %a = alloca i32
    %s = alloca ptr
    store ptr %a, ptr %s
    call void @f(ptr %s)
    store i32 1, ptr %a
    ret void
  })"),
            "KSKS");
}

// Functions that are called in each other's place take the same: @f only looks, @store does not.
TEST(Sharing, FunctionsInATableTakeTheSame) {
  EXPECT_EQ(verdicts(R"(@table = constant [2 x ptr] [ptr @f, ptr @store]
  define void @f(ptr %p, ptr %q) {
    %x = load i32, ptr %p
    ret void
  }
  define void @store(ptr %p, ptr %q) {
    store ptr %q, ptr %p
    ret void
  }
  define void @g(i64 %i) {
    %a = alloca i32
    %s = alloca ptr
    %at = getelementptr ptr, ptr @table, i64 %i
    %call = load ptr, ptr %at
    call void %call(ptr %s, ptr %a)
    %p = load ptr, ptr %s
    store ptr %p, ptr @global
    store i32 1, ptr %a
    ret void
  })"),
            "KKCKSS");
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
  })"),
            "SSSS");
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
  })"),
            "SSSK");
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
    ret void })"),
            "SHSSS");
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
  })"),
            "SSS");
}

TEST(Sharing, AddressWrittenAsANumber) {
  EXPECT_EQ(verdicts(R"(define void @f(ptr %never) {
    store i32 1, ptr inttoptr (i64 4096 to ptr)
    store i32 1, ptr undef
    store i32 1, ptr %never
    ret void
  })"),
            "SUS");
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
  })"),
            "K");
}

}  // namespace
}  // namespace heddle
