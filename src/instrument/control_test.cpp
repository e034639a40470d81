#include "instrument/control.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>

#include "abi/control.h"
#include "abi/hooks.h"
#include "instrument/control_fixture.h"
#include "instrument/control_format.h"

namespace heddle {
namespace {

constexpr const char* kHead = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
@x = global i32 0
@big = global [512 x i8] zeroinitializer
@other = global [512 x i8] zeroinitializer
@word = constant [3 x i8] c"hi\00"
@format = constant [6 x i8] c"%d %s\00"
define i32 @main() { ret i32 0 }
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
declare <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i32>)
declare <4 x i32> @llvm.masked.expandload.v4i32(ptr, <4 x i1>, <4 x i32>)
declare <4 x float> @llvm.x86.avx.maskload.ps(ptr, <4 x i32>)
declare void @llvm.x86.sse2.mfence()
declare void @llvm.x86.sse2.pause()
declare i64 @strlen(ptr)
declare ptr @strcpy(ptr, ptr)
declare ptr @strdup(ptr)
declare i32 @printf(ptr, ...)
declare i32 @vprintf(ptr, ptr)
declare i64 @fwrite(ptr, i64, i64, ptr)
declare ptr @fopen(ptr, ptr)
declare i64 @read(i32, ptr, i64)
declare i64 @recv(i32, ptr, i64, i32)
declare i64 @write(i32, ptr, i64)
declare void @free(ptr)
declare ptr @malloc(i64)
declare i32 @pthread_mutex_lock(ptr)
declare void @qsort(ptr, i64, i64, ptr)
declare void @unknown()
declare void @abort() noreturn
declare i32 @personality(...)
)";

class Function : public Instrumented {
 public:
  explicit Function(const std::string& body) : Instrumented(kHead + body) {
    EXPECT_TRUE(result) << result.error().text();
  }
  std::string hooks_of_f() const { return in("f"); }
};

std::string hooks_of(const std::string& body) {
  return Function("define void @f(ptr %p, i64 %n, i1 %c) {\n" + body + "\nret void\n}").hooks_of_f();
}

// The access goes where its hook says.
TEST(Control, LoadsAndStoresGoWhereTheHookSays) {
  const Function f(R"(
    define void @f() {
      %v = load i32, ptr @x, align 4, !tbaa !0
      store volatile i32 %v, ptr @x, align 4, !tbaa !0
      ret void
    }
    !0 = !{!1, !1, i64 0}
    !1 = !{!"int", !2}
    !2 = !{!"root"}
  )");
  EXPECT_EQ(f.hooks_of_f(), "read write");
  EXPECT_EQ(f.number(f.first("read"), 1), 4u);
  const auto* load = llvm::cast<llvm::LoadInst>(f.first("read").call->getNextNode());
  EXPECT_EQ(load->getPointerOperand(), f.first("read").call);
  EXPECT_FALSE(load->hasMetadata(llvm::LLVMContext::MD_tbaa));
  EXPECT_EQ(load->getAlign().value(), 4u);
  const auto* store = llvm::cast<llvm::StoreInst>(f.first("write").call->getNextNode());
  EXPECT_EQ(store->getPointerOperand(), f.first("write").call);
  EXPECT_TRUE(store->isVolatile());
  EXPECT_FALSE(store->hasMetadata(llvm::LLVMContext::MD_tbaa));
}

TEST(Control, PrivateAndConstantMemoryHasNoHooks) {
  EXPECT_EQ(hooks_of(R"(
    %a = alloca i32
    store i32 1, ptr %a
    %v = load i32, ptr %a
    %w = load i8, ptr @word
  )"),
            "");
}

TEST(Control, OrdersOfAtomics) {
  const Function f(R"(
    define void @f() {
      %a = load atomic i32, ptr @x unordered, align 4
      %b = load atomic i32, ptr @x monotonic, align 4
      %c = load atomic i32, ptr @x acquire, align 4
      %d = load atomic i32, ptr @x syncscope("singlethread") seq_cst, align 4
      store atomic i32 1, ptr @x release, align 4
      store atomic i32 1, ptr @x seq_cst, align 4
      %e = atomicrmw add ptr @x, i32 1 acq_rel
      %g = cmpxchg weak ptr @x, i32 1, i32 2 seq_cst monotonic
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(),
            "atomic_read atomic_read atomic_read atomic_read atomic_write atomic_write update update");
  std::vector<uint64_t> orders;
  for (const Hook& hook : f.hooks) orders.push_back(f.number(hook, 3));
  EXPECT_EQ(orders, (std::vector<uint64_t>{HEDDLE_ORDER_relaxed, HEDDLE_ORDER_relaxed, HEDDLE_ORDER_acquire,
                                           HEDDLE_ORDER_relaxed, HEDDLE_ORDER_release, HEDDLE_ORDER_seq_cst,
                                           HEDDLE_ORDER_acq_rel, HEDDLE_ORDER_seq_cst}));
  const auto* update = llvm::cast<llvm::AtomicRMWInst>(f.first("update").call->getNextNode());
  EXPECT_EQ(update->getPointerOperand()->getName(), "x");
}

TEST(Control, Fences) {
  EXPECT_EQ(
      hooks_of("fence acquire\nfence syncscope(\"singlethread\") seq_cst\ncall void @llvm.x86.sse2.mfence()"),
      "fence fence");
  EXPECT_EQ(hooks_of("call void @llvm.x86.sse2.pause()"), "");
}

TEST(Control, OtherAddressSpacesAreLeftAlone) {
  EXPECT_EQ(hooks_of("%v = load i32, ptr addrspace(257) null"), "");
}

TEST(Control, SidesOfACopyAreJudgedOneByOne) {
  const std::string local = "%a = alloca [512 x i8]\n";
  EXPECT_EQ(hooks_of(local + "call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr @big, i64 %n, i1 false)"), "read");
  EXPECT_EQ(hooks_of(local + "call void @llvm.memcpy.p0.p0.i64(ptr @big, ptr %a, i64 %n, i1 false)"), "write");
  EXPECT_EQ(hooks_of(local + "call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 false)"), "");
  EXPECT_EQ(hooks_of("call void @llvm.memset.p0.i64(ptr @big, i8 0, i64 %n, i1 false)"), "write");
}

// Each side of a short copy happens at its own decision point; a long one is one event.
TEST(Control, CopiesBetweenSharedMemory) {
  const Function f(R"(
    define void @f() {
      tail call void @llvm.memmove.p0.p0.i64(ptr align 1 @big, ptr align 1 @other, i64 160, i1 false)
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "read write");
  const auto* first = llvm::cast<llvm::MemTransferInst>(f.first("read").call->getNextNode());
  const auto* second = llvm::cast<llvm::MemTransferInst>(f.first("write").call->getNextNode());
  EXPECT_EQ(first->getRawSource(), f.first("read").call);
  EXPECT_TRUE(llvm::isa<llvm::AllocaInst>(first->getRawDest()));
  EXPECT_EQ(second->getRawSource(), first->getRawDest());
  EXPECT_EQ(second->getRawDest(), f.first("write").call);
  EXPECT_FALSE(second->isTailCall());
  EXPECT_EQ(hooks_of("call void @llvm.memcpy.p0.p0.i64(ptr @big, ptr @other, i64 512, i1 false)"),
            "range range call");
  EXPECT_EQ(hooks_of("call void @llvm.memcpy.p0.p0.i64(ptr @big, ptr @other, i64 %n, i1 false)"),
            "range range call");
}

TEST(Control, MaskedVectors) {
  EXPECT_EQ(
      hooks_of("%v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr @big, i32 4, <4 x i1> zeroinitializer, "
               "<4 x i32> zeroinitializer)"),
      "in_place");
  EXPECT_EQ(
      hooks_of(
          "%m = insertelement <4 x i1> zeroinitializer, i1 %c, i32 1\n"
          "call void @llvm.masked.store.v4i32.p0(<4 x i32> zeroinitializer, ptr @big, i32 4, <4 x i1> %m)"),
      "in_place");
  EXPECT_EQ(
      hooks_of("%m = insertelement <4 x i1> zeroinitializer, i1 %c, i32 1\n"
               "%v = call <4 x i32> @llvm.masked.expandload.v4i32(ptr @big, <4 x i1> %m, <4 x i32> poison)"),
      "in_place");
  EXPECT_EQ(
      hooks_of(
          "%q = insertelement <4 x ptr> zeroinitializer, ptr @x, i32 1\n"
          "%v = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %q, i32 4, <4 x i1> zeroinitializer, "
          "<4 x i32> poison)"),
      "range range range range call");
  EXPECT_EQ(hooks_of("%v = call <4 x float> @llvm.x86.avx.maskload.ps(ptr @big, <4 x i32> zeroinitializer)"),
            "in_place");
}

TEST(Control, ArgumentsByValueAreRead) {
  const Function f(R"(
    declare void @take(ptr byval([24 x i8]), ptr byval(i32))
    define void @f() {
      %a = alloca i32
      call void @take(ptr byval([24 x i8]) @big, ptr byval(i32) %a)
      call void @take(ptr byval([24 x i8]) @big, ptr byval(i32) @x)
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "in_place leave range range call leave");
  EXPECT_EQ(f.number(f.first("in_place"), 1), 24u);
  EXPECT_EQ(f.number(f.first("in_place"), 3), 0u);
}

std::string assembly(const std::string& text) {
  return hooks_of("call void asm sideeffect " + text);
}

TEST(Control, Assembly) {
  EXPECT_EQ(assembly(R"("mfence", "~{memory}"())"), "assembly");
  EXPECT_EQ(assembly(R"("incl $0", "=*m,*m"(ptr elementtype(i32) @x, ptr elementtype(i32) @x))"), "assembly");
  EXPECT_EQ(assembly(R"x("incl ($0)", "r"(ptr @x))x"), "assembly");
  EXPECT_EQ(
      hooks_of(R"(%r = call i32 asm sideeffect "movl $1, $0", "=q,*m,~{memory}"(ptr elementtype(i32) @x))"),
      "assembly_load");
  EXPECT_EQ(hooks_of(R"(%r = call i32 asm sideeffect "xchgl $1, $0", "=q,*m"(ptr elementtype(i32) @x))"),
            "assembly");
  EXPECT_EQ(hooks_of(R"(%r = call i32 asm sideeffect "movl $1, $0; sfence", "=q,*m"(ptr elementtype(i32) @x))"),
            "assembly");
  EXPECT_EQ(assembly(R"("movl $1, $0", "=*m,r"(ptr elementtype(i32) @x, i32 1))"), "assembly");
  EXPECT_EQ(assembly(R"("", "~{memory}"())"), "");
  EXPECT_EQ(assembly(R"(" # nothing\0A", "~{memory}"())"), "");
  EXPECT_EQ(assembly(R"("pause", "~{memory}"())"), "");
  EXPECT_EQ(assembly(R"("rep; nop\0A\09", "~{memory}"())"), "");
  EXPECT_EQ(assembly(R"("lfence; pause", "~{memory}"())"), "assembly");
  EXPECT_EQ(assembly(R"("cpuid", "~{eax},~{ebx},~{ecx},~{edx}"())"), "");
}

std::vector<uint32_t> noted_sites(const Function& f) {
  std::vector<uint32_t> out;
  for (const llvm::Instruction& i : llvm::instructions(*f.module().getFunction("f")))
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
        store != nullptr && store->getPointerOperand()->getName() == HEDDLE_CONTROL_SITE)
      out.push_back(
          static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(store->getValueOperand())->getZExtValue()));
  return out;
}

// main's `ret` is instruction 0.
TEST(Control, CallsThatLeaveTheProgramNoteTheirSite) {
  const Function f(R"(
    define void @f(ptr %p) {
      call void %p()
      call void @unknown()
      %l = call i32 @pthread_mutex_lock(ptr @big)
      call void @free(ptr null)
      %n = call i64 @strlen(ptr @word)
      call void @inside()
      call void @qsort(ptr null, i64 0, i64 0, ptr %p)
      ret void
    }
    define void @inside() { ret void }
  )");
  EXPECT_EQ(noted_sites(f), (std::vector<uint32_t>{1, 2, 3, 4, 7}));
  const llvm::GlobalVariable* site = f.module().getGlobalVariable(HEDDLE_CONTROL_SITE);
  EXPECT_EQ(site->getThreadLocalMode(), llvm::GlobalValue::InitialExecTLSModel);
  EXPECT_TRUE(site->isDeclaration());
}

// Code that heddle knows nothing of may read anything: buffered stores become visible before.
TEST(Control, CallsOfUnseenCode) {
  EXPECT_EQ(hooks_of("call void @unknown()"), "leave");
  EXPECT_EQ(hooks_of("call void %p()"), "leave");
  EXPECT_EQ(hooks_of("%l = call i32 @pthread_mutex_lock(ptr @big)"), "");
}

// A private object whose address is lent to a function that also gets shared ones.
TEST(Control, OwnAccessesToLentMemory) {
  const Function f(R"(
    define i32 @f() {
      %own = alloca i32
      call void @set(ptr %own)
      call void @set(ptr @x)
      %v = load i32, ptr %own
      ret i32 %v
    }
    define internal void @set(ptr nocapture %p) noinline {
      store i32 1, ptr %p
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "own");
  EXPECT_EQ(f.in("set"), "write");
}

TEST(Control, LibraryFunctionsOnSharedMemory) {
  const Function f(R"(
    define void @f() {
      %n = call i64 @strlen(ptr @big)
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "range call");
  EXPECT_EQ(f.number(f.first("range"), 1), HEDDLE_SIZE_STRING);
  EXPECT_EQ(f.number(f.first("range"), 3), 0u);

  EXPECT_EQ(hooks_of("%l = call i64 @strlen(ptr @word)"), "");
  EXPECT_EQ(hooks_of("%a = alloca [8 x i8]\n%l = call i64 @strlen(ptr %a)"), "");
  EXPECT_EQ(hooks_of("%s = call ptr @strdup(ptr @big)"), "range call");
  EXPECT_EQ(hooks_of("call void @qsort(ptr @big, i64 %n, i64 4, ptr null)"), "range range call");
  EXPECT_EQ(hooks_of("%l = call i32 @pthread_mutex_lock(ptr @big)"), "");
  EXPECT_EQ(hooks_of("call void @free(ptr @big)"), "");
}

// The string that strcpy writes is not there before: nobody may look for its end.
TEST(Control, StringsToBeWrittenHaveNoEnd) {
  const Function f("define void @f() {\n%r = call ptr @strcpy(ptr @big, ptr @word)\nret void\n}");
  EXPECT_EQ(f.hooks_of_f(), "range call");
  EXPECT_EQ(f.number(f.first("range"), 1), HEDDLE_SIZE_OBJECT);
  EXPECT_EQ(f.number(f.first("range"), 3), 1u);
}

// Streams are the library's own; what is written to them is the program's.
TEST(Control, StreamsAreNotTheProgramsMemory) {
  EXPECT_EQ(hooks_of("%r = call i32 (ptr, ...) @printf(ptr @word)"), "blocking blocking_done");
  const Function f(R"(
    define void @f(i64 %n) {
      %file = call ptr @fopen(ptr @word, ptr @word)
      %r = call i64 @fwrite(ptr @big, i64 1, i64 %n, ptr %file)
      ret void
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "blocking blocking_done range call leave blocking blocking_done");
}

// Ranges that cannot be told may be in the store buffer all the same.
TEST(Control, WhatIsLeftOutBecomesVisible) {
  EXPECT_EQ(hooks_of("%r = call i32 (ptr, ...) @printf(ptr %p, ptr @big)"),
            "range call leave blocking blocking_done");
  EXPECT_EQ(hooks_of("%r = call i32 @vprintf(ptr @word, ptr %p)"), "leave blocking blocking_done");
}

// A function that is not in the model is outside, wherever the linker puts it.
TEST(Control, OnlyPointersMayLeadBackInside) {
  const auto target = [](const Function& f) { return f.first("leave").call->getArgOperand(0); };
  const Function unknown("define void @f() {\ncall void @unknown()\nret void\n}");
  EXPECT_TRUE(llvm::isa<llvm::ConstantPointerNull>(target(unknown)));
  const Function indirect("define void @f(ptr %p) {\ncall void %p()\nret void\n}");
  EXPECT_FALSE(llvm::isa<llvm::ConstantPointerNull>(target(indirect)));
}

TEST(Control, StringsOfPrintf) {
  EXPECT_EQ(hooks_of("%r = call i32 (ptr, ...) @printf(ptr @format, i32 1, ptr @big)"),
            "range call blocking blocking_done");
  EXPECT_EQ(hooks_of("%r = call i32 (ptr, ...) @printf(ptr @format, i32 1, ptr @word)"),
            "blocking blocking_done");
}

TEST(Control, CallsThatMayWaitOutside) {
  const Function f("define i64 @f() {\n%r = tail call i64 @write(i32 1, ptr @word, i64 2)\nret i64 %r\n}");
  EXPECT_EQ(f.hooks_of_f(), "blocking blocking_done");
  const auto* name = llvm::cast<llvm::GlobalVariable>(f.first("blocking").call->getArgOperand(1));
  EXPECT_EQ(llvm::cast<llvm::ConstantDataArray>(name->getInitializer())->getAsCString(), "write");
  // The runtime performs these itself.
  EXPECT_EQ(hooks_of("%a = alloca i8\n%r = call i64 @read(i32 0, ptr %a, i64 1)"), "");
  EXPECT_EQ(hooks_of("%a = alloca i8\n%r = call i64 @recv(i32 0, ptr %a, i64 1, i32 0)"), "");
}

// The edge to a block that others lead to as well is split.
TEST(Control, InvokedCallsThatMayWait) {
  const Function f(R"(
    define i64 @f(i1 %c) personality ptr @personality {
      br i1 %c, label %one, label %done
    one:
      %r = invoke i64 @write(i32 1, ptr @word, i64 2) to label %done unwind label %bad
    done:
      %v = phi i64 [ 0, %0 ], [ %r, %one ]
      ret i64 %v
    bad:
      %l = landingpad { ptr, i32 } cleanup
      ret i64 1
    }
  )");
  EXPECT_EQ(f.hooks_of_f(), "blocking blocking_done");
  const llvm::BasicBlock* done = f.first("blocking_done").call->getParent();
  EXPECT_NE(done->getSinglePredecessor(), nullptr);
  EXPECT_NE(done->getSingleSuccessor(), nullptr);
}

TEST(Control, MainIsRenamed) {
  const Function f(R"(
    @llvm.used = appending global [1 x ptr] [ptr @main], section "llvm.metadata"
    define i32 @f() { 
      %r = call i32 @main() 
      ret i32 %r 
    }
  )");
  EXPECT_EQ(f.module().getNamedValue("main"), nullptr);
  const llvm::Function* main = f.module().getFunction(HEDDLE_CONTROL_MAIN);
  ASSERT_NE(main, nullptr);
  EXPECT_TRUE(main->hasExternalLinkage());
}

TEST(Control, MainMayBeAnAlias) {
  const Instrumented made("@main = alias i32 (), ptr @start\ndefine internal i32 @start() { ret i32 0 }");
  ASSERT_TRUE(made.result) << made.result.error().text();
  EXPECT_NE(made.module().getNamedAlias(HEDDLE_CONTROL_MAIN), nullptr);
}

TEST(Control, ProgramsWithoutMainAreRefused) {
  const Instrumented made("define void @f() { ret void }");
  ASSERT_FALSE(made.result);
  EXPECT_NE(made.result.error().what.find("main()"), std::string::npos);
  EXPECT_FALSE(made.result.error().next.empty());
}

// Whatever the optimiser had found out of a function, with hooks it touches memory.
TEST(Control, MemoryAttributesAreForgotten) {
  const Function f(R"(
    define i32 @f() memory(read) nosync {
      %v = load i32, ptr @x
      ret i32 %v
    }
    define i32 @g() {
      %v = call i32 @f() memory(read)
      ret i32 %v
    }
  )");
  EXPECT_FALSE(f.module().getFunction("f")->onlyReadsMemory());
  for (const llvm::Instruction& i : llvm::instructions(*f.module().getFunction("g")))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
        call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call))
      EXPECT_FALSE(call->onlyReadsMemory());
}

TEST(PrintfArguments, FindsStrings) {
  const auto kinds = [](std::string_view format) {
    std::string text;
    for (const PrintfArgument& argument : printf_arguments(format))
      text += "nsw"[static_cast<int>(argument.kind)];
    return text;
  };
  EXPECT_EQ(kinds("plain 100%%"), "");
  EXPECT_EQ(kinds("%d %-8s %lu %5.3f %c"), "nsnnn");
  EXPECT_EQ(kinds("%*d %.*s|%ls %m %hhx"), "nnnswn");
  EXPECT_EQ(kinds("%2$s %1$d"), "");
  EXPECT_EQ(kinds("%"), "");
  EXPECT_EQ(printf_arguments("%.12s")[0].precision, 12u);
  EXPECT_EQ(printf_arguments("%d %.*s")[2].precision_argument, 1u);
}

// ---- whole programs: every shared access has exactly one event, others none

// Hooks that stand for accesses of a site; ranges belong to the next `call`.
std::map<uint32_t, std::vector<Hook>> hooks_by_site(const Instrumented& made) {
  std::map<uint32_t, std::vector<Hook>> out;
  std::vector<Hook> ranges;
  for (const Hook& hook : made.hooks) {
    if (hook.name == "range") {
      ranges.push_back(hook);
    } else if (hook.name == "call") {
      for (const Hook& range : ranges) out[hook.site].push_back(range);
      ranges.clear();
    } else if (hook.name != "blocking" && hook.site != UINT32_MAX) {
      out[hook.site].push_back(hook);
    }
  }
  EXPECT_TRUE(ranges.empty());
  return out;
}

size_t check_every_access(const Instrumented& made) {
  EXPECT_TRUE(made.result) << made.result.error().text();
  const std::map<uint32_t, std::vector<Hook>> hooks = hooks_by_site(made);
  std::map<uint32_t, size_t> expected;
  for (size_t i = 0; i < made.sites.size(); ++i)
    expected[made.sites[i]] += made.before.accesses[i].sharing == Sharing::shared;
  size_t shared = 0;
  for (const auto& [site, count] : expected) {
    const auto found = hooks.find(site);
    EXPECT_EQ(found == hooks.end() ? 0 : found->second.size(), count) << "instruction " << site;
    shared += count;
  }
  return shared;
}

TEST(Control, EverySharedAccessOfRealPrograms) {
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"atomicity_hash_table_stripes.c", "-O0"},       {"atomicity_hash_table_stripes.c", "-O2 -g"},
      {"atomicity_memcpy_torn_struct.c", "-O0"},       {"atomicity_memcpy_torn_struct.c", "-O3 -march=haswell"},
      {"atomicity_cache_lookup_insert.cpp", "-O2 -g"}, {"atomicity_barrier_completion.cpp", "-O1"}};
  for (const auto& [name, options] : programs) {
    SCOPED_TRACE(name + " " + options);
    const Instrumented made(compiled(HEDDLE_SOURCE_DIR "/test/programs/" + name, options));
    EXPECT_GT(check_every_access(made), 2u);
  }
}

TEST(Control, FramesEndAtReturnsLandingPadsAndSetjmp) {
  const Function f(R"(
    declare i32 @setjmp(ptr) returns_twice
    declare i32 @__gxx_personality_v0(...)
    define i32 @g(ptr %p) { ret i32 0 }
    define i32 @f(ptr %p) personality ptr @__gxx_personality_v0 {
      %local = alloca i64
      call void @llvm.lifetime.start.p0(i64 8, ptr %local)
      %r = call i32 @setjmp(ptr %p)
      invoke void @may_throw() to label %normal unwind label %pad
    normal:
      %t = musttail call i32 @g(ptr %p)
      ret i32 %t
    pad:
      %l = landingpad { ptr, i32 } cleanup
      ret i32 1
    }
    declare void @may_throw()
    declare void @llvm.lifetime.start.p0(i64, ptr))");
  ASSERT_TRUE(f.result);
  std::vector<std::string> behind;
  for (const llvm::CallInst* end : f.frame_ends)
    if (end->getFunction()->getName() == "f") behind.push_back(end->getNextNode()->getOpcodeName());
  // Behind setjmp, before the tail call, behind the landing pad, before its return.
  EXPECT_EQ(behind, (std::vector<std::string>{"store", "call", "call", "ret"}));
  EXPECT_EQ(f.text().find("lifetime.start.p0(i64 8"), std::string::npos);
}

}  // namespace
}  // namespace heddle
