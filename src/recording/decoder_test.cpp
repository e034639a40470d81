#include "recording/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "recording/decoder_fixture.h"

namespace heddle {
namespace {

using Kind = DecodeEnd::Kind;
using ::testing::HasSubstr;

constexpr const char* kTwoFunctions = R"(
define i32 @main() {
entry:
  %a = call i32 @input()
  %z = icmp eq i32 %a, 0
  br i1 %z, label %yes, label %no
yes:
  %b = call i32 @choose()
  br label %done
no:
  br label %done
done:
  ret i32 0
}
define internal i32 @choose() {
entry:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  ret i32 1
two:
  ret i32 2
}
)";

TEST(Decoder, FollowsCallsAndBranches) {
  const PlannedProgram program(kTwoFunctions);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.returned(0, false, 0, 0, 4);  // known: needs no bits
  log.bits(1, 1);                   // choose: the second edge of the branch
  const Listener told = decode(program, log);
  EXPECT_THAT(told.text, ::testing::MatchesRegex(
                             "\\^main entry input=0 yes \\+choose entry (one|two) -choose done -main"));
  EXPECT_EQ(told.ended.kind, Kind::complete) << told.ended.text;
  log = {};
  log.enter_from_outside(program.id("main"));
  log.returned(0, false, 0, 3, 4);
  EXPECT_EQ(decode(program, log).text, "^main entry input=3 no done -main");
}

TEST(Decoder, StopsWhereTheLogEnds) {
  const PlannedProgram program(kTwoFunctions);
  LogWriter log;
  EXPECT_EQ(decode(program, log).ended.kind, Kind::complete);
  log.enter_from_outside(program.id("main"));
  Listener told = decode(program, log);
  EXPECT_EQ(told.text, "^main entry");
  EXPECT_EQ(told.ended.kind, Kind::in_call);
  EXPECT_EQ(told.ended.certain_blocks, 0u) << "the thread may have been killed before its first block";
  log.returned(0, false, 0, 0, 4);
  told = decode(program, log);
  EXPECT_EQ(told.text, "^main entry input=0 yes +choose entry pending");
  EXPECT_EQ(told.ended.kind, Kind::stopped);
  EXPECT_EQ(told.ended.blocks, 3u);
  EXPECT_EQ(told.ended.certain_blocks, 1u);
}

TEST(Decoder, CertainToTheEndWhenTheThreadEnded) {
  const PlannedProgram program(kTwoFunctions);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.returned(0, false, 0, 3, 4);
  EXPECT_EQ(decode(program, log).ended.certain_blocks, 1u);
  log.head.end_tsc = 5;
  EXPECT_EQ(decode(program, log).ended.certain_blocks, 3u);
}

TEST(Decoder, TellsWhatCallsDid) {
  const PlannedProgram program(R"(
define i64 @main() {
entry:
  %l = call i32 @lock(ptr @buffer)
  %r = call i64 @receive(ptr @buffer, i64 8)
  %u = call i32 @unlock(ptr @buffer)
  ret i64 %r
}
)");
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.sync(HEDDLE_SYNC_mutex_lock, {0x6000}, 0);
  log.returned(0, true, 1000 + 64, 0, 4);
  log.returned(4, false, 0, 3, 8);
  log.bytes("abc");
  log.sync(HEDDLE_SYNC_mutex_unlock, {0x6000}, 1000 + 640);
  log.returned(0, false, 0, 1, 4);
  std::string expected = fmt::format(
      "^main entry sync{}(6000) lock=0 @1064 receive=3 errno=4 0:'abc' sync{}(6000) @1640 unlock=1 -main",
      static_cast<int>(HEDDLE_SYNC_mutex_lock), static_cast<int>(HEDDLE_SYNC_mutex_unlock));
  EXPECT_EQ(decode(program, log).text, expected);

  log = {};
  log.clock = false;
  log.enter_from_outside(program.id("main"));
  log.sync(HEDDLE_SYNC_mutex_lock, {0x6000}, 0);
  log.child(4);
  log.returned(0, true, 0, 0, 4);
  log.returned(0, false, 0, 3, 8);
  log.file_bytes(2, 512, 3);
  log.sync(HEDDLE_SYNC_mutex_unlock, {0x6000}, 0);
  log.returned(0, false, 0, 0, 4);
  expected =
      fmt::format("^main entry sync{}(6000) child4 lock=0 receive=3 file2:512+3 sync{}(6000) unlock=0 -main",
                  static_cast<int>(HEDDLE_SYNC_mutex_lock), static_cast<int>(HEDDLE_SYNC_mutex_unlock));
  EXPECT_EQ(decode(program, log).text, expected);
}

TEST(Decoder, BytesGoOnInTheNextChunk) {
  const PlannedProgram program(R"(
define i64 @main() {
entry:
  %r = call i64 @receive(ptr @buffer, i64 10000)
  ret i64 %r
}
)");
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.returned(0, false, 0, 10000, 8);
  log.bytes(std::string(10000, 'x'));
  const Listener told = decode(program, log);
  EXPECT_EQ(told.text, "^main entry receive=10000 0:'" + std::string(10000, 'x') + "' -main");
}

constexpr const char* kCallbacks = R"(
define void @main() personality ptr @personality {
entry:
  invoke void @call_back(ptr @visited) to label %fine unwind label %pad
pad:
  %p = landingpad { ptr, i32 } cleanup
  ret void
fine:
  ret void
}
define void @visited() {
entry:
  call void @inner()
  ret void
}
define internal void @inner() {
entry:
  call void @throw()
  unreachable
}
)";

TEST(Decoder, ExceptionsGoThroughCallbacks) {
  const PlannedProgram program(kCallbacks);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.enter_from_outside(program.id("visited"));
  log.landed(program.call("main", "call_back"));
  EXPECT_EQ(decode(program, log).text,
            "^main entry *visited entry +inner entry !inner !visited landed pad -main");
}

TEST(Decoder, CodeOutsideMayCatch) {
  const PlannedProgram program(kCallbacks);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.enter_from_outside(program.id("visited"));
  log.enter_from_outside(program.id("visited"));  // called again
  log.returned(0, false, 0, 0, 0);
  const Listener told = decode(program, log);
  EXPECT_EQ(
      told.text,
      "^main entry *visited entry +inner entry *visited entry +inner entry !inner !visited !inner !visited "
      "call_back=- fine -main");
  EXPECT_EQ(told.ended.kind, Kind::complete);
}

TEST(Decoder, PointersLeadInsideAndOutside) {
  const PlannedProgram program(R"(
define i32 @main(ptr %f) {
entry:
  %r = call i32 %f()
  %s = call i32 %f()
  %keep = icmp eq ptr %f, @pointed
  ret i32 %r
}
define i32 @pointed() {
entry:
  ret i32 7
}
)");
  LogWriter log;
  log.enter_from_outside(program.id("main"), {{0x1234, 8}});
  log.enter(program.id("pointed"));
  log.foreign(0x1234);
  log.returned(0, false, 0, 9, 4);
  EXPECT_EQ(decode(program, log).text,
            "^main argument=4660 entry &pointed entry -pointed foreign(1234) pointer=9 -main");
}

TEST(Decoder, JumpsToTheActivationThatMarked) {
  const PlannedProgram program(R"(
define void @main() {
entry:
  %first = call i32 @set_jump(ptr @buffer)
  %again = icmp eq i32 %first, 0
  br i1 %again, label %go, label %back
go:
  call void @main()
  br label %back
back:
  call void @long_jump(ptr @buffer)
  unreachable
}
)");
  const uint32_t mark = program.call("main", "set_jump");
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  const uint64_t outer = log.position();
  log.twice(mark, 0, 0, 0);
  log.twice(mark, 0, 0, 0);  // the second activation
  log.twice(mark, 0, 0, 5);  // the third
  log.twice(mark, 1, log.position() - outer, 6);
  for (uint64_t way : {0, 0, 1, 1}) log.bits(way, 1);  // of `entry`
  const Listener told = decode(program, log);
  EXPECT_EQ(
      told.text,
      "^main entry twice0=0 go +main entry twice0=0 go +main entry twice0=5 back !main !main twice1=6 back");
  EXPECT_EQ(told.ended.kind, Kind::in_call);
  log.twice(mark, 2, log.position() - outer + 1, 6);
  EXPECT_EQ(decode(program, log).ended.kind, Kind::damaged);
}

// Tells no blocks, but how often the rounds of loops were told to be repeated.
class RoundCounter : public Listener {
 public:
  using Listener::Listener;
  uint64_t rounds = 0;
  void repeated_blocks(std::span<const BlockId>, uint64_t times) override { rounds += times; }
};

TEST(Decoder, CountedLoopsAreToldAtOnce) {
  const PlannedProgram program(R"(
define i32 @main() {
entry:
  br label %head
head:
  %x = load i32, ptr @shared
  %out = icmp eq i32 %x, 0
  br i1 %out, label %done, label %tail
tail:
  br label %head
done:
  ret i32 0
}
)");
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.leave_loop(10'000'000, 0, 0);
  const Result<LogFile> file = LogFile::from_bytes("test.log", log.file());
  RoundCounter counter(program.program());
  const DecodeEnd end = ThreadDecoder(program.program(), program.plan(), *file, counter).run();
  EXPECT_EQ(end.kind, Kind::complete) << end.text;
  EXPECT_EQ(counter.rounds, 10'000'000u);
  EXPECT_EQ(end.blocks, 20'000'003u);

  log = {};
  log.enter_from_outside(program.id("main"));
  log.leave_loop(2, 0, 0);
  EXPECT_EQ(decode(program, log).text, "^main entry head tail head tail head done -main");
  log = {};
  log.enter_from_outside(program.id("main"));
  log.rounds(2);
  const Listener told = decode(program, log);
  EXPECT_EQ(told.text, "^main entry head pending tail head tail head tail");
  EXPECT_EQ(told.ended.kind, Kind::stopped);
}

TEST(Decoder, LoopsAreCountedFromTheMiddle) {
  const PlannedProgram program(R"(
define i32 @main() {
entry:
  br label %head
head:
  %x = load i32, ptr @shared
  %rare = icmp eq i32 %x, 5
  br i1 %rare, label %skip, label %latch
skip:
  br label %latch
latch:
  %y = load i32, ptr @shared
  %out = icmp slt i32 %y, 0
  br i1 %out, label %done, label %head
done:
  ret i32 0
}
)");
  constexpr uint64_t to_skip = 0, to_done = 1;
  const auto leaves = [](LogWriter& log, uint64_t rounds, uint64_t exit) { log.leave_loop(rounds, exit, 1); };
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  leaves(log, 2, to_skip);
  LogWriter stopped = log;
  leaves(log, 0, to_skip);
  EXPECT_EQ(decode(program, log).ended.kind, Kind::damaged);  // it is behind that way out

  log = stopped;
  leaves(log, 1, to_skip);
  leaves(log, 0, to_done);
  Listener told = decode(program, log);
  EXPECT_EQ(told.text, "^main entry head latch head latch head skip latch head skip latch done -main");
  EXPECT_EQ(told.ended.kind, Kind::complete);

  log = stopped;
  leaves(log, 10'000'000, to_done);
  const Result<LogFile> file = LogFile::from_bytes("test.log", log.file());
  RoundCounter counter(program.program());
  const DecodeEnd end = ThreadDecoder(program.program(), program.plan(), *file, counter).run();
  EXPECT_EQ(end.kind, Kind::complete) << end.text;
  EXPECT_EQ(counter.rounds, 2u + 9'999'999u);
  EXPECT_EQ(end.blocks, 20'000'009u);

  stopped.rounds(2);
  told = decode(program, stopped);
  EXPECT_EQ(told.text, "^main entry head latch head latch head skip latch pending head latch head latch");
  EXPECT_EQ(told.ended.kind, Kind::stopped);
}

TEST(Decoder, PendingNumbersAreFollowedToTheirLastEdge) {
  const PlannedProgram program(R"(
define i32 @main() {
entry:
  %x = load i32, ptr @shared
  switch i32 %x, label %a [ i32 1, label %b  i32 2, label %c ]
a:
  br label %join
b:
  br label %join
c:
  br label %join
join:
  %y = load i32, ptr @shared
  %z = icmp eq i32 %y, 0
  br i1 %z, label %yes, label %no
yes:
  ret i32 0
no:
  ret i32 1
}
)");
  const Segments& segments = *program.plan().function(program.function("main"))->segments;
  ASSERT_TRUE(segments.clears_path(0));
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  EXPECT_EQ(decode(program, log).text, "^main entry pending");
  log.head.looked_at = 1;
  for (const Segments::Edge& edge : segments.edges()) {
    if (edge.from != 0 || edge.value == 0) continue;
    log.head.pending_path = edge.value;
    const llvm::BasicBlock& to =
        *program.plan().function(program.function("main"))->flow.block(segments.block_of(edge.to));
    EXPECT_EQ(decode(program, log).text, "^main entry pending " + to.getName().str() + " join");
  }
}

TEST(Decoder, HandlersHaveLogsOfTheirOwn) {
  const PlannedProgram program(R"(
define void @main() {
entry:
  %keep = icmp eq ptr @handler, null
  ret void
}
define void @handler(i32 %n) {
entry:
  %a = call i32 @input()
  ret void
}
)");
  LogWriter log;
  for (int i = 0; i < 2; ++i) {
    log.signal(10, 0x400000);
    log.enter_from_outside(program.id("handler"), {{10, 4}});
    log.returned(0, false, 0, 0, 4);
    log.signal_end();
  }
  log.signal(11, 0x400000);
  log.enter_from_outside(program.id("handler"), {{11, 4}});
  log.signal(12, 0x400000);  // the handler before it jumped out
  const std::string whole = "^handler argument=10 entry input=0 -handler signal_end ";
  EXPECT_EQ(decode(program, log).text, "signal10 " + whole + "signal10 " + whole +
                                           "signal11 ^handler argument=11 entry !handler signal12");
}

TEST(Decoder, EndlessWaysAreGivenUp) {
  const PlannedProgram loop(R"(
define void @main() {
entry:
  br label %round
round:
  br label %round
}
)");
  class Nothing : public PathVisitor {
  } nothing;
  LogWriter log;
  log.enter_from_outside(loop.id("main"));
  const Result<LogFile> file = LogFile::from_bytes("test.log", log.file());
  DecodeEnd end = ThreadDecoder(loop.program(), loop.plan(), *file, nothing).run();
  EXPECT_EQ(end.kind, Kind::stopped);
  EXPECT_EQ(end.text, "main goes on for ever without writing anything");
  EXPECT_EQ(end.certain_blocks, 0u);

  const PlannedProgram recursion(R"(
define void @main() {
entry:
  call void @main()
  ret void
}
)");
  end = ThreadDecoder(recursion.program(), recursion.plan(), *file, nothing).run();
  EXPECT_EQ(end.kind, Kind::stopped);

  log.bits(1, 1);
  const Result<LogFile> more = LogFile::from_bytes("test.log", log.file());
  end = ThreadDecoder(recursion.program(), recursion.plan(), *more, nothing).run();
  EXPECT_EQ(end.kind, Kind::trouble);
}

TEST(Decoder, LittleIsToldBehindTheEndOfALogWhoseThreadRan) {
  const PlannedProgram loop(R"(
define void @main() {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %next = add i64 %i, 1
  %on = icmp ult i64 %next, 3000000
  br i1 %on, label %round, label %done
done:
  ret void
}
)");
  class Nothing : public PathVisitor {
  } nothing;
  LogWriter log;
  log.enter_from_outside(loop.id("main"));
  const Result<LogFile> running = LogFile::from_bytes("test.log", log.file());
  DecodeEnd end = ThreadDecoder(loop.program(), loop.plan(), *running, nothing).run();
  EXPECT_EQ(end.kind, Kind::stopped);
  EXPECT_LT(end.blocks, 1'100'000u);
  log.head.end_tsc = 2000;
  const Result<LogFile> finished = LogFile::from_bytes("test.log", log.file());
  end = ThreadDecoder(loop.program(), loop.plan(), *finished, nothing).run();
  EXPECT_EQ(end.kind, Kind::complete);
  EXPECT_EQ(end.certain_blocks, 3'000'002u);
}

TEST(Decoder, DamageIsNamedWithItsPlace) {
  const PlannedProgram program(kTwoFunctions);
  const auto text_of = [&](const LogWriter& log) {
    const Listener told = decode(program, log);
    EXPECT_EQ(told.ended.kind, Kind::damaged);
    return told.ended.text;
  };
  LogWriter log;
  log.enter_from_outside(program.id("choose"));
  EXPECT_THAT(text_of(log), HasSubstr("cannot be entered from outside"));
  log = {};
  log.enter_from_outside(1000);
  EXPECT_EQ(text_of(log), "test.log, offset 8259: data stream: a function that the program does not have");
  log = {};
  log.enter_from_outside(program.id("main"));
  log.raw("\x63");
  EXPECT_THAT(text_of(log), HasSubstr("an entry 99"));
  log = {};
  log.enter_from_outside(program.id("main"));
  log.landed(0);
  EXPECT_THAT(text_of(log), HasSubstr("a landing of a call that nobody has made"));
  log = {};
  log.returned(0, false, 0, 0, 0);
  EXPECT_THAT(text_of(log), HasSubstr("a return of a call that nobody has made"));
  log = {};
  log.enter_from_outside(program.id("main"));
  log.bits(1, 1);
  EXPECT_THAT(text_of(log), HasSubstr("path stream: more than the thread ran"));
}

TEST(Decoder, LogsThatBeginLateAreNotFollowed) {
  const PlannedProgram program(kTwoFunctions);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.first_sequence = 3;
  const Listener told = decode(program, log);
  EXPECT_EQ(told.ended.kind, Kind::begins_late);
  EXPECT_EQ(told.text, "");
}

// ---- against runs of a whole program

class Runs : public ::testing::TestWithParam<RecordPolicy> {
 public:
  Runs() : program(kEverything, GetParam()) {}
  PlannedProgram program;

  Simulator simulate(uint64_t seed, uint64_t most_blocks, bool& finished) {
    auto random = std::make_shared<std::mt19937_64>(seed);
    Simulator run(program.program(), program.plan(), [random] { return (*random)(); });
    run.most_blocks = most_blocks;
    finished = run.run(program.function("main"));
    return run;
  }
};

TEST_P(Runs, DecodedBlocksAreThoseThatRan) {
  size_t blocks = 0, chunks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    bool finished = false;
    Simulator run = simulate(seed, 100'000, finished);
    ASSERT_TRUE(finished);
    const Result<LogFile> log = LogFile::from_bytes("test.log", run.log.file());
    ASSERT_TRUE(log->damage().empty()) << log->damage()[0].text();
    const Listener told = decode(program, *log);
    ASSERT_EQ(told.ended.kind, Kind::complete) << "seed " << seed << ": " << told.ended.text << "\n"
                                               << told.text;
    ASSERT_EQ(told.blocks, run.blocks) << "seed " << seed;
    ASSERT_EQ(told.ended.blocks, run.blocks.size());
    blocks += told.blocks.size();
    chunks += log->data_stream().chunks.size();
  }
  EXPECT_GT(blocks, 50'000u);
  EXPECT_GT(chunks, 0u);
}

TEST_P(Runs, WhatAKilledThreadLeftIsABeginning) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint64_t length = 1; length < 250; ++length) {
      bool finished = false;
      Simulator run = simulate(seed, length, finished);
      const Listener told = decode(program, run.log);
      ASSERT_TRUE(told.ended.kind != Kind::damaged && told.ended.kind != Kind::trouble) << told.ended.text;
      ASSERT_LE(told.ended.certain_blocks, run.blocks.size()) << seed << " " << length << "\n" << told.text;
      const size_t common = std::min(told.blocks.size(), run.blocks.size());
      ASSERT_GE(common, told.ended.certain_blocks);
      ASSERT_TRUE(std::equal(told.blocks.begin(), told.blocks.begin() + static_cast<ptrdiff_t>(common),
                             run.blocks.begin()))
          << "seed " << seed << ", length " << length << "\n"
          << told.text;
    }
  }
}

// All of it below a call that a handler may jump to.
class Interrupted : public ::testing::TestWithParam<RecordPolicy> {};

TEST_P(Interrupted, TheThreadIsFoundAgainWhereItJumpedTo) {
  const PlannedProgram program(std::string(kEverything) + R"(
@mark = global i64 0
define void @marking() {
entry:
  %came = call i32 @set_jump(ptr @mark)
  %first = icmp eq i32 %came, 0
  br i1 %first, label %go, label %back
go:
  %r = call i32 @main(i32 1)
  ret void
back:
  %x = load i64, ptr @shared
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %two
one:
  ret void
two:
  ret void
}
)",
                               GetParam());
  size_t interrupted = 0, not_certain = 0, exact = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (uint64_t length = 1; length < 150; ++length) {
      std::mt19937_64 random(seed);
      Simulator run(program.program(), program.plan(), [&random] { return random(); });
      run.interrupt_at = length;
      ASSERT_TRUE(run.run(program.function("marking")));
      if (run.interruptions.empty()) continue;
      const Result<LogFile> log = LogFile::from_bytes("test.log", run.log.file());
      const Listener told = decode(program, *log, run.interruptions);
      const std::string where =
          fmt::format("seed {}, {} blocks: {}\n{}", seed, length, told.ended.text, told.text);
      ASSERT_EQ(told.ended.kind, Kind::complete) << where;
      const auto lost = told.blocks.begin() + static_cast<ptrdiff_t>(told.told_when_lost);
      const auto left = run.blocks.begin() + static_cast<ptrdiff_t>(length);
      const auto common = std::mismatch(told.blocks.begin(), lost, run.blocks.begin(), left).first;
      ASSERT_LE(told.certain_when_lost, common - told.blocks.begin()) << where;
      ASSERT_EQ(std::vector(lost, told.blocks.end()), std::vector(left, run.blocks.end())) << where;
      exact += common - told.blocks.begin() == static_cast<ptrdiff_t>(length);
      ++interrupted;
      not_certain += told.certain_when_lost < length;
    }
  }
  EXPECT_GT(interrupted, 3000u);
  EXPECT_GT(not_certain, 500u);
  EXPECT_GT(exact, interrupted * 9 / 10) << "the state may hold a number of a segment before";
}

TEST(Interruptions, AreThoseHandlersThatDidNotComeBack) {
  const PlannedProgram program(kTwoFunctions);
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "interruptions";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const LogWriter& log) {
    std::ofstream(folder / name, std::ios::binary) << log.file();
  };
  LogWriter thread, handlers, handlers_of_these;
  thread.enter_from_outside(program.id("main"));
  for (uint64_t signal : {1, 2, 3}) {
    handlers.signal({.signal = signal, .path_words = signal, .word = 5, .data_bytes = 2});
    handlers.enter_from_outside(program.id("main"));
    if (signal == 1) handlers_of_these.signal({.signal = 4, .word = 1, .data_bytes = handlers.position()});
    if (signal == 2) handlers.returned(0, false, 0, 3, 4);
    if (signal == 2) handlers.signal_end();
  }
  write("0.1.log", thread);
  write("0.1@1.log", handlers);
  write("0.1@2.log", handlers_of_these);
  const auto numbers = [&](const char* name) {
    std::vector<uint64_t> out;
    for (const SignalEntry& entry : jumps_out_of_handlers(program.program(), program.plan(), folder / name))
      out.push_back(entry.signal);
    return out;
  };
  EXPECT_EQ(numbers("0.1.log"), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(numbers("0.1@1.log"), std::vector<uint64_t>{4});
  EXPECT_EQ(numbers("0.1@2.log"), std::vector<uint64_t>{});
  std::filesystem::remove_all(folder);
}

TEST(Interruptions, InAnotherPlaceThanTheThreadCanHaveBeenAreDamage) {
  const PlannedProgram program(kTwoFunctions);
  LogWriter log;
  log.enter_from_outside(program.id("main"));
  log.returned(0, false, 0, 0, 4);
  for (uint64_t i = 0; i < 10; ++i) log.bits(i, 63);
  const Result<LogFile> file = LogFile::from_bytes("test.log", log.file());
  const Listener told = decode(program, *file, {{.signal = 11, .path_words = 8, .word = 3, .data_bytes = 2}});
  EXPECT_EQ(told.ended.kind, Kind::damaged);
  EXPECT_THAT(told.ended.text, HasSubstr("in another place"));
}

TEST_P(Runs, ChangedBytesDoNoHarm) {
  std::mt19937_64 random(7);
  size_t damaged = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    bool finished = false;
    std::string bytes = simulate(seed % 10, 100'000, finished).log.file();
    for (int i = 0; i < 8; ++i)
      bytes[4096 + random() % (bytes.size() - 4096)] ^= static_cast<char>(1 << random() % 8);
    const Result<LogFile> log = LogFile::from_bytes("test.log", bytes);
    ASSERT_TRUE(log);
    Listener told(program.program());
    ThreadDecoder decoder(program.program(), program.plan(), *log, told);
    for (int steps = 0; steps < 100'000 && decoder.step(); ++steps) {
    }
    damaged += !log->damage().empty() || told.ended.kind == Kind::damaged;
  }
  EXPECT_GT(damaged, 20u);
}

const auto kPolicies = ::testing::Values(RecordPolicy::standard, RecordPolicy::paths, RecordPolicy::clap);
constexpr auto kPolicyName = [](const ::testing::TestParamInfo<RecordPolicy>& policy) {
  return std::string(record_policy_name(policy.param));
};
INSTANTIATE_TEST_SUITE_P(Policies, Runs, kPolicies, kPolicyName);
INSTANTIATE_TEST_SUITE_P(Policies, Interrupted, kPolicies, kPolicyName);

}  // namespace
}  // namespace heddle
