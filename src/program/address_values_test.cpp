#include "program/address_values.h"

#include <llvm/IR/InstIterator.h>

#include "program/sharing_fixture.h"

namespace heddle {
namespace {

// The names of the logged values, in the order they stand. Functions whose name begins with "bare" are not
// recorded.
std::string logged(const std::string& body, ValuesFor wanted = ValuesFor::addresses) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(kDeclarations + body +
                                    "\ndefine void @writes() {\n store i64 1, ptr @number\n store ptr @number, "
                                    "ptr @global\n ret void\n}\n",
                                diagnostic, context);
  if (module == nullptr) return diagnostic.getMessage().str();
  EffectsTable effects;
  EXPECT_TRUE(effects.add(kTable, "test table"));
  const SharingResult sharing = analyse_sharing(*module, effects, {});
  const auto recorded = [](const llvm::Function& function) { return !function.getName().starts_with("bare"); };
  const auto values = address_values(*module, effects, sharing, recorded, wanted);
  std::string names;
  for (const llvm::Function& function : *module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (values.contains(&instruction)) names += (names.empty() ? "" : " ") + instruction.getName().str();
  return names;
}

std::string logged_in(const std::string& code) {
  return logged("define void @f(i64 %n) {\n" + code + "\n ret void\n}");
}

TEST(AddressValues, TheReadAmongEquals) {
  EXPECT_EQ(logged_in(R"(
    %p = load ptr, ptr @global
    %a = getelementptr i8, ptr %p, i64 8
    %x = load i64, ptr %a)"),
            "p");
}

TEST(AddressValues, OnePointerForManyFields) {
  EXPECT_EQ(logged_in(R"(
    %p = load ptr, ptr @global
    %i = load i64, ptr @number
    %a = getelementptr i8, ptr %p, i64 %i
    store i64 0, ptr %a
    %b = getelementptr i32, ptr %p, i64 %i
    store i64 0, ptr %b
    %c = getelementptr i64, ptr %p, i64 %i
    store i64 0, ptr %c)"),
            "p i");
}

TEST(AddressValues, OneAddressForManyReads) {
  EXPECT_EQ(logged_in(R"(
    %p = load ptr, ptr @global
    %i = atomicrmw add ptr @number, i64 1 seq_cst
    %a = getelementptr i8, ptr %p, i64 %i
    store i64 0, ptr %a)"),
            "a");
}

TEST(AddressValues, NothingThatDoesNotFollowFromSharedMemory) {
  EXPECT_EQ(logged_in(R"(
    %own = alloca [8 x i64]
    %a = getelementptr i64, ptr %own, i64 %n
    %x = load i64, ptr %a
    %b = getelementptr i8, ptr @message, i64 %x
    %y = load i8, ptr %b
    %q = call ptr @unknown_pointer()
    %z = load i64, ptr %q
    %local = call ptr @llvm.threadlocal.address.p0(ptr @local_to_thread)
    %t = load ptr, ptr %local)"),
            "");
}

TEST(AddressValues, NothingThatNoAddressNeeds) {
  EXPECT_EQ(logged_in(R"(
    %x = load i64, ptr @number
    %y = add i64 %x, 1
    store i64 %y, ptr @number)"),
            "");
}

TEST(AddressValues, SizesAndPointersGivenAway) {
  EXPECT_EQ(logged_in(R"(
    %size = load i64, ptr @number
    %m = call ptr @malloc(i64 %size)
    %p = load ptr, ptr @global
    call void @unknown(ptr %p)
    %length = load i64, ptr @number
    call void @llvm.memset.p0.i64(ptr %m, i8 0, i64 %length, i1 false))"),
            "size p length");
}

constexpr const char* kHashLoop = R"(
    br label %loop
  loop:
    %k = phi i64 [ 0, %start ], [ %next, %loop ]
    %h = phi i64 [ 7, %start ], [ %mixed, %loop ]
    %byte = load i64, ptr @number
    %sum = add i64 %h, %byte
    %mixed = mul i64 %sum, 31
    %next = add i64 %k, 1
    %more = icmp ult i64 %next, 100
    br i1 %more, label %loop, label %done
  done:
)";

TEST(AddressValues, WhatALoopComputesIsLoggedOnceBehindIt) {
  EXPECT_EQ(logged("define void @f() {\n start:" + std::string(kHashLoop) + R"(
    %index = and i64 %mixed, 7
    %a = getelementptr i64, ptr @number, i64 %index
    store i64 0, ptr %a
    ret void
  })"),
            "index");
}

TEST(AddressValues, WhatTakesFewBytes) {
  EXPECT_EQ(logged_in(R"(
    %x = load i64, ptr @number
    %first = urem i64 %x, 64
    %a = getelementptr i64, ptr @number, i64 %first
    %y = load i64, ptr %a
    %mixed = add i64 %x, %y
    %second = and i64 %mixed, 63
    %b = getelementptr i64, ptr @number, i64 %second
    store i64 0, ptr %b
    %sum = add i64 %first, %second
    %third = urem i64 %sum, 64
    %c = getelementptr i64, ptr @number, i64 %third
    store i64 0, ptr %c)"),
            "first second");
}

TEST(AddressValues, TheChoiceAndNotWhatItComparesIn) {
  EXPECT_EQ(logged(R"(define void @merge() {
  start:
    br label %loop
  loop:
    %p = phi ptr [ @number, %start ], [ %p_next, %loop ]
    %q = phi ptr [ @number, %start ], [ %q_next, %loop ]
    %x = load i64, ptr %p
    %y = load i64, ptr %q
    %less = icmp ult i64 %x, %y
    %p_up = getelementptr i8, ptr %p, i64 8
    %q_up = getelementptr i8, ptr %q, i64 8
    %p_next = select i1 %less, ptr %p_up, ptr %p
    %q_next = select i1 %less, ptr %q, ptr %q_up
    br label %loop
  })"),
            "less");
}

TEST(AddressValues, BehindTheCallOfAFunctionWithTheLoop) {
  EXPECT_EQ(logged("define internal i64 @hash() {\n start:" + std::string(kHashLoop) + R"(
    %result = phi i64 [ %mixed, %loop ]
    ret i64 %result
  }
  define void @f() {
    %r = call i64 @hash()
    %index = and i64 %r, 7
    %a = getelementptr i64, ptr @number, i64 %index
    store i64 0, ptr %a
    ret void
  })"),
            "index");
}

TEST(AddressValues, LocalVariablesInStackSlots) {
  EXPECT_EQ(logged(R"(define void @f() {
  start:
    %slot = alloca i64
    store i64 7, ptr %slot
    br label %loop
  loop:
    %h = load i64, ptr %slot
    %byte = load i64, ptr @number
    %sum = add i64 %h, %byte
    store i64 %sum, ptr %slot
    %more = icmp ult i64 %byte, 100
    br i1 %more, label %loop, label %done
  done:
    %index = load i64, ptr %slot
    %a = getelementptr i64, ptr @number, i64 %index
    store i64 0, ptr %a
    ret void
  })"),
            "index");
}

TEST(AddressValues, PointersThatGoThroughObjectsOfTheThread) {
  const std::string code = R"(
    %iterator = alloca { i64, ptr }
    %field = getelementptr { i64, ptr }, ptr %iterator, i64 0, i32 1
    %p = load ptr, ptr @global
    store ptr %p, ptr %field
    %q = load ptr, ptr %field
    %x = load i64, ptr %q
    ret void
    })";
  EXPECT_EQ(logged("define void @f() optnone noinline {\n" + code), "p");
  EXPECT_EQ(logged("define void @f() {\n" + code), "p");
}

TEST(AddressValues, CopiesOfSharedMemoryAreLoggedWhereTheyAreRead) {
  EXPECT_EQ(logged_in(R"(
    %own = call ptr @malloc(i64 16)
    call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr @global, i64 8, i1 false)
    %again = call ptr @malloc(i64 16)
    call void @llvm.memcpy.p0.p0.i64(ptr %again, ptr %own, i64 8, i1 false)
    %q = load ptr, ptr %again
    %x = load i64, ptr %q)"),
            "q");
}

TEST(AddressValues, OwnMemoryThatNothingSharedGoesInto) {
  EXPECT_EQ(logged_in(R"(
    %own = call ptr @malloc(i64 16)
    store ptr %own, ptr %own
    %q = load ptr, ptr %own
    %x = load i64, ptr %q
    %y = load i64, ptr @number
    %plain = alloca i64
    store i64 %y, ptr %plain)"),
            "");
}

TEST(AddressValues, ListsAreLoggedLinkByLink) {
  EXPECT_EQ(logged(R"(define void @f() {
  start:
    %head = load ptr, ptr @global
    br label %loop
  loop:
    %p = phi ptr [ %head, %start ], [ %next, %loop ]
    %key_at = getelementptr i8, ptr %p, i64 8
    %key = load i64, ptr %key_at
    %next_at = getelementptr i8, ptr %p, i64 16
    %next = load ptr, ptr %next_at
    %more = icmp ne ptr %next, null
    br i1 %more, label %loop, label %done
  done:
    ret void
  })"),
            "head next");
}

TEST(AddressValues, ArgumentsAreFollowedToTheCallers) {
  EXPECT_EQ(logged(R"(define internal void @callee(ptr %p) {
    store i64 0, ptr %p
    ret void
  }
  define void @f() {
    %p = load ptr, ptr @global
    call void @callee(ptr %p)
    call void @callee(ptr @number)
    ret void
  })"),
            "p");
}

TEST(AddressValues, WhatIsPassedInMemory) {
  // Behind the named arguments, and by value: of a thread's own object, and of a shared one.
  EXPECT_EQ(logged(R"(
    define internal i64 @among(i64 %count, ...) {
      %list = alloca [24 x i8]
      call void @llvm.va_start.p0(ptr %list)
      %area_at = getelementptr i8, ptr %list, i64 8
      %area = load ptr, ptr %area_at
      %next = load i64, ptr %area
      ret i64 %next
    }
    define internal i64 @member(ptr byval(i64) %object) {
      %own = load i64, ptr %object
      ret i64 %own
    }
    define internal i64 @copied(ptr byval(i64) %object) {
      %here = load i64, ptr %object
      ret i64 %here
    }
    define void @f() {
      %x = load i64, ptr @number
      %i = call i64 (i64, ...) @among(i64 1, i64 %x)
      %a = getelementptr i8, ptr @number, i64 %i
      store i8 0, ptr %a
      %object = alloca i64
      %y = load i64, ptr @number
      store i64 %y, ptr %object
      %j = call i64 @member(ptr byval(i64) %object)
      %b = getelementptr i8, ptr @number, i64 %j
      store i8 0, ptr %b
      %k = call i64 @copied(ptr byval(i64) @number)
      %c = getelementptr i8, ptr @number, i64 %k
      store i8 0, ptr %c
      ret void
    })"),
            "here x y");
}

TEST(AddressValues, CallsThroughPointersMayLeadToFunctionsOfTheirType) {
  // The result of a comparison function, and an index that a function gets.
  EXPECT_EQ(logged(R"(
    @function = constant ptr @compare
    @other = constant ptr @use
    define i32 @compare(ptr %a) {
      %x = load i32, ptr @number
      ret i32 %x
    }
    define void @use(i32 %index) {
      %to = getelementptr i8, ptr @number, i32 %index
      store i8 0, ptr %to
      ret void
    }
    define void @f(ptr %compare, ptr %use, ptr %p) {
      %r = call i32 %compare(ptr null)
      %from_left = icmp slt i32 %r, 0
      %q = select i1 %from_left, ptr %p, ptr @number
      store i8 0, ptr %q
      %i = load i32, ptr @number
      call void %use(i32 %i)
      ret void
    })"),
            "from_left i");
}

TEST(AddressValues, WhatLibrariesComputeFromSharedMemory) {
  EXPECT_EQ(logged_in(R"(
    %own = alloca [8 x i8]
    store i64 0, ptr %own
    %l = call i64 @strlen(ptr %own)
    %a = getelementptr i8, ptr @number, i64 %l
    store i8 0, ptr %a
    %m = call i64 @strlen(ptr @number)
    %more = icmp ugt i64 %m, 3
    %q = select i1 %more, ptr %own, ptr @number
    store i8 0, ptr %q
    %r = call i64 @read(i32 0, ptr @number, i64 1)
    %b = getelementptr i8, ptr @number, i64 %r
    store i8 0, ptr %b)"),
            "more");
}

TEST(AddressValues, PartsOfWhatCannotBeLogged) {
  EXPECT_EQ(logged_in(R"(
    %pair = cmpxchg ptr @number, i64 1, i64 2 seq_cst seq_cst
    %old = extractvalue { i64, i1 } %pair, 0
    %a = getelementptr i64, ptr @number, i64 %old
    store i64 0, ptr %a
    %v = load <2 x i64>, ptr @number
    %part = extractelement <2 x i64> %v, i32 0
    %b = getelementptr i64, ptr @number, i64 %part
    store i64 0, ptr %b)"),
            "old part");
}

TEST(AddressValues, VectorsOfAddressesAreGivenUp) {
  EXPECT_EQ(logged_in(R"(
    %v = load <2 x ptr>, ptr @global
    call void @llvm.masked.scatter.v2i32.v2p0(<2 x i32> zeroinitializer, <2 x ptr> %v, i32 4, <2 x i1> <i1 1, i1 1>)
    %p = load ptr, ptr @global
    store i64 0, ptr %p)"),
            "p");
}

TEST(AddressValues, NothingWhereNothingIsRecorded) {
  EXPECT_EQ(logged(R"(define void @bare() {
    %p = load ptr, ptr @global
    store i64 0, ptr %p
    ret void
  })"),
            "");
}

TEST(AddressValues, SizesAndReleasesOfBlocksAlone) {
  EXPECT_EQ(logged(R"(define void @f() {
    %p = load ptr, ptr @global
    store i64 0, ptr %p
    %n = load i64, ptr @number
    call void @llvm.memset.p0.i64(ptr @message, i8 0, i64 %n, i1 false)
    %count = load i64, ptr @number
    %more = mul i64 %count, 2
    %m = call ptr @malloc(i64 %more)
    %old = load ptr, ptr @global
    call void @free(ptr %old)
    ret void
  })",
                   ValuesFor::blocks),
            "count old");
}

}  // namespace
}  // namespace heddle
