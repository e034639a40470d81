// For tests of the decoder: programs as IR text with their plan, what the decoder tells as text, and one
// program that has all ways in which control can go.
#pragma once

#include <fmt/core.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/record_plan.h"
#include "recording/decoder.h"
#include "recording/simulator.h"

namespace heddle {

inline constexpr const char* kOutside = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
@shared = global i64 0
@buffer = global i64 0
declare i32 @input()
declare i32 @lock(ptr)
declare i32 @unlock(ptr)
declare i64 @receive(ptr, i64)
declare void @throw() noreturn
declare void @call_back(ptr)
declare void @call_catch(ptr)
declare i32 @set_jump(ptr) returns_twice
declare void @long_jump(ptr) noreturn
declare void @stop() noreturn
declare i32 @personality(...)
)";

inline constexpr const char* kOutsideTable = R"(
input: input
lock: sync mutex_lock(0)
unlock: sync mutex_unlock(0)
receive: writes(0, ret) input errno
throw: noreturn
call_back: calls(0)
call_catch: calls(0)
set_jump: pure
long_jump: noreturn
stop: noreturn
)";

class PlannedProgram {
 public:
  explicit PlannedProgram(const std::string& body, RecordPolicy policy = RecordPolicy::standard) {
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic diagnostic;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(kOutside + body, diagnostic, *context);
    if (module == nullptr) {
      std::string message;
      llvm::raw_string_ostream stream(message);
      diagnostic.print("test", stream);
      throw std::runtime_error(message);
    }
    if (const Result<void> added = table_.add(kOutsideTable, "test table"); !added)
      throw std::runtime_error(added.error().text());
    program_ = Program::from_module(std::move(context), std::move(module));
    plan_ = std::make_unique<RecordPlan>(*program_, program_->module(), table_, policy);
  }

  const Program& program() const { return *program_; }
  const RecordPlan& plan() const { return *plan_; }
  const llvm::Function& function(llvm::StringRef name) const { return *program_->module().getFunction(name); }
  uint32_t id(llvm::StringRef name) const { return program_->id_of(function(name)).value; }
  // Of the first call of `callee` in `caller`.
  uint32_t call(llvm::StringRef caller, llvm::StringRef callee) const {
    for (const llvm::BasicBlock& block : function(caller))
      for (const llvm::Instruction& instruction : block)
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call != nullptr && call->getCalledFunction() == &function(callee))
          return program_->id_of(instruction).value;
    throw std::runtime_error("no such call");
  }

 private:
  EffectsTable table_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<RecordPlan> plan_;
};

// Keeps all it is told.
class Listener : public PathVisitor {
 public:
  explicit Listener(const Program& program) : program_(&program) {}

  std::vector<BlockId> blocks;
  std::string
      text;  // words in brief: "+f" entered, "-f" left, "!f" left by force, "f.block", and what else is below
  DecodeEnd ended;
  uint64_t certain_when_lost = 0, told_when_lost = 0;

  void enter_function(FunctionId id, EnteredBy by) override {
    say(fmt::format("{}{}", "^*+&"[static_cast<int>(by)], name(id)));
  }
  void leave_function(FunctionId id, LeftBy by) override {
    say((by == LeftBy::returned ? "-" : "!") + name(id));
  }
  void block(BlockId id) override {
    blocks.push_back(id);
    const llvm::BasicBlock& block = program_->block(id);
    say(fmt::format("{}", std::string_view(block.getName())));
  }
  void repeated_blocks(std::span<const BlockId> round, uint64_t times) override {
    PathVisitor::repeated_blocks(round, std::min<uint64_t>(times, 100'000));  // damaged logs may ask for more
  }
  void arguments(FunctionId, std::span<const uint64_t> given) override {
    for (uint64_t argument : given) say(fmt::format("argument={}", argument));
  }
  void value(const llvm::Instruction&, uint64_t value) override { say(fmt::format("value={}", value)); }
  void synchronises(const llvm::CallBase&, const SyncEntry& entry) override {
    say(fmt::format("sync{}({:x})", static_cast<int>(entry.kind), entry.object[0]));
    if (entry.tsc) say(fmt::format("@{}", *entry.tsc));
  }
  void calls_outside(const llvm::CallBase&, uint64_t target) override {
    say(fmt::format("foreign({:x})", target));
  }
  void child(uint64_t number) override { say(fmt::format("child{}", number)); }
  void returned(const llvm::CallBase& call, const ReturnedEntry& entry) override {
    say(fmt::format(
        "{}={}",
        call.getCalledFunction() != nullptr ? std::string_view(call.getCalledFunction()->getName()) : "pointer",
        entry.result ? fmt::format("{}", *entry.result) : "-"));
    if (entry.tsc) say(fmt::format("@{}", *entry.tsc));
    if (entry.error) say(fmt::format("errno={}", *entry.error));
  }
  void written(const llvm::CallBase&, size_t range, const WrittenBytes& bytes) override {
    say(bytes.file ? fmt::format("file{}:{}+{}", *bytes.file, bytes.file_offset, bytes.count)
                   : fmt::format("{}:'{}'", range, bytes.bytes));
  }
  void landed(const llvm::InvokeInst&) override { say("landed"); }
  void returned_twice(const llvm::CallBase&, const TwiceEntry& entry) override {
    say(fmt::format("twice{}={}", entry.returns, entry.result));
  }
  void signal(const SignalEntry& entry) override { say(fmt::format("signal{}", entry.signal)); }
  void signal_end() override { say("signal_end"); }
  void control_lost(uint64_t certain_blocks) override {
    certain_when_lost = certain_blocks;
    told_when_lost = blocks.size();
    say("lost");
  }
  void pending() override { say("pending"); }
  void end(const DecodeEnd& how) override { ended = how; }

 private:
  std::string name(FunctionId id) const { return program_->function(id).getName().str(); }
  void say(const std::string& word) { text += (text.empty() ? "" : " ") + word; }
  const Program* program_;
};

inline Listener decode(const PlannedProgram& program, const LogFile& log,
                       std::vector<SignalEntry> interruptions = {}) {
  Listener listener(program.program());
  ThreadDecoder(program.program(), program.plan(), log, listener, std::move(interruptions)).run();
  return listener;
}

inline Listener decode(const PlannedProgram& program, const LogWriter& log) {
  const Result<LogFile> file = LogFile::from_bytes("test.log", log.file());
  if (!file) throw std::runtime_error(file.error().text());
  return decode(program, *file);
}

// What comes from outside decides where it goes: everything but the length is up to the input.
inline constexpr const char* kEverything = R"(
define i32 @main(i32 %n) personality ptr @personality {
entry:
  br label %again
again:
  %round = phi i32 [ 0, %entry ], [ %next, %more ]
  %what = call i32 @input()
  %kind = and i32 %what, 15
  switch i32 %kind, label %plain [ i32 0, label %throws  i32 1, label %jumps  i32 2, label %calls_back
    i32 3, label %recurses  i32 4, label %points  i32 5, label %counts  i32 6, label %computes  i32 7, label %announces
    i32 8, label %catches  i32 9, label %receives i32 10, label %tails  i32 11, label %locks
    i32 12, label %skips  i32 13, label %detours ]
throws:
  %t = invoke i32 @thrower(i32 %what) to label %more unwind label %pad
pad:
  %p = landingpad { ptr, i32 } cleanup
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %more, label %rethrow
rethrow:
  invoke void @thrower2() to label %more unwind label %pad2
pad2:
  %p2 = landingpad { ptr, i32 } cleanup
  br label %more
jumps:
  call void @jumper()
  br label %more
calls_back:
  call void @call_back(ptr @visited)
  br label %more
catches:
  call void @call_catch(ptr @visited_throws)
  br label %more
recurses:
  %depth = call i32 @recurse(i32 6)
  %deep = icmp eq i32 %depth, 3
  br i1 %deep, label %more, label %points
points:
  %value = load i64, ptr @shared
  %which = trunc i64 %value to i1
  br i1 %which, label %near, label %far
near:
  %r1 = call i32 @through(ptr @pointed)
  br label %more
far:
  %r2 = call i32 @through(ptr @input)
  br label %more
counts:
  %c = call i32 @counting()
  br label %more
computes:
  %f = call i32 @computing(i32 %what)
  br label %more
announces:
  %a = call i32 @announcing()
  br label %more
receives:
  %got = call i64 @receive(ptr @buffer, i64 8)
  %some = icmp ult i64 %got, 1000
  br i1 %some, label %more, label %plain
tails:
  %tail = call i32 @tailing(i32 %what)
  br label %more
locks:
  %l = call i32 @lock(ptr @buffer)
  %locked = icmp eq i32 %l, 0
  br i1 %locked, label %more, label %plain
skips:
  %s = call i32 @skipping()
  br label %more
detours:
  %d = call i32 @detouring()
  br label %more
plain:
  br label %more
more:
  %next = add i32 %round, 1
  %on = icmp ult i32 %next, 40
  br i1 %on, label %again, label %done
done:
  ret i32 0
}
define internal i32 @thrower(i32 %n) {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %bad, label %good
bad:
  call void @throw()
  unreachable
good:
  ret i32 %n
}
define internal void @thrower2() personality ptr @personality {
entry:
  %r = invoke i32 @thrower(i32 1) to label %fine unwind label %cleanup
cleanup:
  %p = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %p
fine:
  ret void
}
define internal void @jumper() {
entry:
  %first = call i32 @set_jump(ptr @buffer)
  %again = icmp eq i32 %first, 0
  br i1 %again, label %go, label %back
go:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %leave, label %stay
leave:
  call void @jumps_away()
  br label %stay
stay:
  ret void
back:
  ret void
}
define internal void @jumps_away() {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %jump, label %not
jump:
  call void @long_jump(ptr @buffer)
  unreachable
not:
  ret void
}
define internal void @visited() {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  ret void
two:
  call void @call_back(ptr @pointed)
  ret void
}
define internal void @visited_throws() {
entry:
  %r = call i32 @thrower(i32 3)
  ret void
}
define internal i32 @recurse(i32 %n) {
entry:
  %stop = icmp eq i32 %n, 0
  br i1 %stop, label %end, label %deeper
deeper:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %end, label %call
call:
  %less = sub i32 %n, 1
  %r = call i32 @recurse(i32 %less)
  %one = add i32 %r, 1
  ret i32 %one
end:
  ret i32 0
}
define internal i32 @through(ptr %f) {
entry:
  %r = call i32 %f()
  %z = icmp eq i32 %r, 0
  br i1 %z, label %zero, label %other
zero:
  ret i32 1
other:
  ret i32 2
}
define internal i32 @pointed() {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  ret i32 0
two:
  ret i32 1
}
define internal i32 @counting() {
entry:
  br label %head
head:
  %x = load i64, ptr @shared
  %low = and i64 %x, 7
  %out = icmp eq i64 %low, 0
  br i1 %out, label %left, label %tail
tail:
  %y = load i64, ptr @shared
  %low2 = and i64 %y, 15
  %out2 = icmp eq i64 %low2, 1
  br i1 %out2, label %right, label %head
left:
  ret i32 1
right:
  ret i32 2
}
define internal i32 @skipping() {
entry:
  br label %head
head:
  %x = load i64, ptr @shared
  %part = trunc i64 %x to i2
  %rare = icmp eq i2 %part, 1
  br i1 %rare, label %skip, label %latch
skip:
  %y = load i64, ptr @shared
  %odd = trunc i64 %y to i1
  br i1 %odd, label %head, label %latch
latch:
  %z = load i64, ptr @shared
  %low = and i64 %z, 15
  %out = icmp eq i64 %low, 1
  br i1 %out, label %done, label %head
done:
  ret i32 1
}
define internal i32 @detouring() {
entry:
  br label %head
head:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %call, label %latch
call:
  %y = call i32 @input()
  br label %latch
latch:
  %z = load i64, ptr @shared
  %low = and i64 %z, 15
  %out = icmp eq i64 %low, 1
  br i1 %out, label %done, label %head
done:
  ret i32 1
}
define internal i32 @computing(i32 %n) {
entry:
  %slot = alloca i32
  %small = and i32 %n, 63
  store i32 %small, ptr %slot
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ]
  %limit = load i32, ptr %slot
  %on = icmp ult i32 %i, %limit
  br i1 %on, label %body, label %end
body:
  %j = call i32 @silent(i32 %i)
  br label %head
end:
  %even = and i32 %i, 1
  switch i32 %even, label %b [ i32 0, label %a ]
a:
  ret i32 1
b:
  ret i32 2
}
define internal i32 @silent(i32 %n) {
entry:
  %m = add i32 %n, 1
  %low = and i32 %n, 3
  %rare = icmp eq i32 %low, 3
  br i1 %rare, label %twice, label %once
twice:
  %k = add i32 %n, 2
  ret i32 %k
once:
  ret i32 %m
}
define internal i32 @announcing() {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %first, label %choose
choose:
  %y = load i64, ptr @shared
  %odd2 = trunc i64 %y to i1
  br i1 %odd2, label %one, label %two
one:
  br label %jump
two:
  br label %jump
jump:
  %to = phi ptr [ blockaddress(@announcing, %first), %one ], [ blockaddress(@announcing, %second), %two ]
  indirectbr ptr %to, [ label %first, label %second ]
first:
  ret i32 1
second:
  %z = load i64, ptr @shared
  %odd3 = trunc i64 %z to i1
  br i1 %odd3, label %first, label %third
third:
  ret i32 3
}
define internal i32 @tailing(i32 %n) {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  %r = musttail call i32 @thrower_of_none(i32 %n)
  ret i32 %r
two:
  ret i32 2
}
define internal i32 @thrower_of_none(i32 %n) {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  ret i32 1
two:
  ret i32 0
}
)";

}  // namespace heddle
