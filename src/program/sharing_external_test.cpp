// Verdicts on hand-written IR: threads, library functions, the runtime of the language.
#include "program/sharing_fixture.h"

namespace heddle {
namespace {

TEST(SharingExternal, ThreadArgumentIsShared) {
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
  })"),
            "SSKK");
}

TEST(SharingExternal, ThreadStartThroughPointer) {
  EXPECT_EQ(verdicts(R"(
  @starts = constant [1 x ptr] [ptr @start]
  define internal ptr @start(ptr %p) { store i32 1, ptr %p  ret ptr %p }
  define void @f(i64 %i) {
    %a = call ptr @malloc(i64 4)
    %e = getelementptr ptr, ptr @starts, i64 %i
    %s = load ptr, ptr %e
    %r = call i32 @pthread_create(ptr null, ptr null, ptr %s, ptr %a)
    ret void
  })"),
            "SC");
}

TEST(SharingExternal, ThreadResultIsShared) {
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
  })"),
            "SSKS");
}

TEST(SharingExternal, UnknownExternals) {
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
  })"),
            "SKSSS");
}

TEST(SharingExternal, InlineAssembly) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    %b = alloca i64
    %t = call i64 asm sideeffect "rdtsc", "=r"()
    store i64 %t, ptr %b
    call void asm sideeffect "", "r,~{memory}"(ptr %a)
    store i32 1, ptr %a
    ret void
  })"),
            "KS");
  // Only keeps a value alive.
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = alloca i32
    call void asm sideeffect "", "r"(ptr %a)
    store i32 1, ptr %a
    ret void
  })"),
            "K");
}

TEST(SharingExternal, KnownExternals) {
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
  })"),
            "KKKKKHSSS");
}

TEST(SharingExternal, KnownExternalsMovePointersBetweenArguments) {
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
  })"),
            "KSKS");
}

TEST(SharingExternal, PointersThroughAPipe) {
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
  })"),
            "KSKS");
}

TEST(SharingExternal, InputWithoutPointersGoingOut) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %h = call ptr @malloc(i64 16)
    %d = call ptr @malloc(i64 16)
    store ptr %d, ptr %h
    %n = call i64 @read(i32 0, ptr %h, i64 8)
    store i32 1, ptr %d
    ret void
  })"),
            "HH");
}

TEST(SharingExternal, Realloc) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = call ptr @malloc(i64 4)
    %b = call ptr @realloc(ptr %a, i64 8)
    store i32 1, ptr %b
    %c = call ptr @malloc(i64 4)
    %d = call ptr @realloc(ptr %c, i64 8)
    store ptr %d, ptr @global
    store i32 1, ptr %c
    ret void
  })"),
            "HSS");
}

TEST(SharingExternal, ThreadSpecificData) {
  EXPECT_EQ(verdicts(R"(define void @f() {
    %a = call ptr @malloc(i64 4)
    %r = call i32 @pthread_setspecific(i32 0, ptr %a)
    store i32 1, ptr %a
    %b = call ptr @pthread_getspecific(i32 0)
    store i32 1, ptr %b
    ret void
  })"),
            "SS");
}

TEST(SharingExternal, ThreadLocalVariables) {
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
  })"),
            "SSTT");
}

TEST(SharingExternal, ExceptionsStayInTheirThread) {
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

TEST(SharingExternal, RuntimeOfTheLanguage) {
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
  })"),
            "TTT");
}

TEST(SharingExternal, TablesOfLibraryClasses) {
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

// Where in what is stored the pointers are is not said: in all of it.
TEST(SharingExternal, PointersInStructuresThatLibrariesFillIn) {
  EXPECT_EQ(verdicts(R"(define void @f(i32 %n) {
    %a = call ptr @malloc(i64 4)
    %events = alloca [24 x i8]
    %got = call i32 @wait_for(ptr %events)
    %second = getelementptr i8, ptr %events, i64 16
    %who = load ptr, ptr %second
    store ptr %a, ptr %who
    store i32 1, ptr %a
    ret void
  })"),
            "KSS");
}

}  // namespace
}  // namespace heddle
