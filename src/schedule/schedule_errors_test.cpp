// Every message of the reader and of the check, with its line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule_check.h"
#include "schedule/schedule_fixture.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

using testing::HasSubstr;

std::string header(const std::string& model) {
  return "heddle schedule 1\n"
         "program a\n"
         "identity 00112233445566778899aabbccddeeff\n"
         "memory-model " +
         model +
         "\n"
         "folder /tmp\n"
         "command ./a\n";
}

// Lines 7 and 8 list the threads; steps start in line 9.
std::string steps(const std::string& model, const std::string& lines) {
  return header(model) + "thread 0 main\nthread 0:1\n" + lines;
}

std::string message(const std::string& text) {
  const auto read = read_schedule(text, "f");
  if (read) return "no error";
  EXPECT_FALSE(read.error().next.empty()) << read.error().text();
  EXPECT_EQ(read.error().exit, ExitCode::environment);
  return read.error().where + " " + read.error().what;
}

struct Case {
  std::string text;
  const char* message;
};

void expect_all(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(message(one.text), one.message) << one.text;
}

TEST(ScheduleErrors, FirstLine) {
  expect_all({
      {"", "f:1:1 schedule: expected 'heddle schedule 1' in the first line, found the end of the line"},
      {"\x7f"
       "ELF",
       "f:1:1 schedule: a control character, '\\x7f'"},
      {"# x\n", "f:1:1 schedule: expected 'heddle schedule 1' in the first line, found the end of the line"},
      {"{ }", "f:1:1 schedule: expected 'heddle schedule 1' in the first line, found '{'"},
      {"heddle recording 1", "f:1:1 schedule: expected 'heddle schedule 1' in the first line, found 'heddle'"},
      {"heddle schedule", "f:1:16 schedule: expected the version of the format, found the end of the line"},
      {"heddle schedule one", "f:1:17 schedule: expected the version of the format, found 'one'"},
      {"heddle schedule 2", "f:1:17 schedule: the file has format version 2, this heddle reads version 1"},
      {"heddle schedule 1 2", "f:1:19 schedule: expected the end of the line, found '2'"},
  });
}

TEST(ScheduleErrors, Header) {
  const std::string tso = header("tso");
  const std::string first = "heddle schedule 1\n";
  expect_all({
      {first + "prgram a", "f:2:1 schedule: expected a key, found 'prgram'"},
      {first + "program", "f:2:8 schedule: expected the file name of the program, found the end of the line"},
      {first + "program a b", "f:2:11 schedule: expected the end of the line, found 'b'"},
      {first + "identity", "f:2:9 schedule: expected the identity of the program, found the end of the line"},
      {first + "folder  # x", "f:2:9 schedule: expected a folder, found the end of the line"},
      {first + "memory-model arm", "f:2:14 schedule: expected a memory model, found 'arm'"},
      {first + "memory-model", "f:2:13 schedule: expected a memory model, found the end of the line"},
      {first + "command",
       "f:2:8 schedule: expected the command line of the program, found the end of the line"},
      {first + "command a | b", "f:2:11 schedule: '|' without quotes"},
      {first + "command 'a", "f:2:9 schedule: this quote is not closed on its line"},
      {first + "seed x", "f:2:6 schedule: expected a number, found 'x'"},
      {first + "seed -1", "f:2:6 schedule: expected a number, found '-1'"},
      {first + "seed 18446744073709551616",
       "f:2:6 schedule: expected a number below 2^64, found '18446744073709551616'"},
      {first + "prefix maybe", "f:2:8 schedule: expected 'yes' or 'no', found 'maybe'"},
      {first + "events many", "f:2:8 schedule: expected a number of events, found 'many'"},
      {first + "build-id", "f:2:9 schedule: expected a build id, found the end of the line"},
      {first + "strategy", "f:2:9 schedule: expected the name of a strategy, found the end of the line"},
      {first + "failure", "f:2:8 schedule: expected the identity of a failure, found the end of the line"},
      {first + "values", "f:2:7 schedule: expected a hash of values, found the end of the line"},
      {first + "environment", "f:2:12 schedule: expected NAME=VALUE, found the end of the line"},
      {first + "input", "f:2:6 schedule: expected the file that is standard input, found the end of the line"},
      {tso + "input a\nend 0", "f:7:7 schedule: 'input' takes an absolute path"},
      {tso + "input $'/\\x00'\nend 0", "f:7:7 schedule: 'input' holds a NUL byte"},
      {tso + "folder /", "f:7:1 schedule: 'folder' is given twice"},
      {first + "program a\nthread 0",
       "f:3:1 schedule: the header lacks identity, memory-model, folder, command"},
      {tso + "build-id 0G\nend 0", "f:7:10 schedule: 'build-id' takes hexadecimal digits (0-9, a-f)"},
      {tso + "values zz\nend 0", "f:7:8 schedule: 'values' takes hexadecimal digits (0-9, a-f)"},
      {tso + "failure $'a\\nb'\nend 0", "f:7:9 schedule: 'failure' takes a text of one line"},
      {tso + "strategy $'\\x00'\nend 0", "f:7:10 schedule: 'strategy' holds a NUL byte"},
      {tso + "environment A=1\nenvironment B\nend 0", "f:8:13 schedule: 'environment' takes NAME=VALUE"},
      {tso + "environment =1\nend 0", "f:7:13 schedule: 'environment' takes NAME=VALUE"},
      {tso + "environment A=1\nenvironment A=2\nend 0", "f:8:13 schedule: this variable is set twice"},
      {tso + "environment A=1\nenvironment $'B=\\x00'\nend 0",
       "f:8:13 schedule: 'environment' holds a NUL byte"},
      {tso + "events 3\nthread 0\nrun 0 2\nend 1",
       "f:7:8 schedule: the header expects 3 events, the steps hold 2"},
      {tso + "events 1\nprefix yes\nthread 0\nrun 0 2\nend 1",
       "f:7:8 schedule: the header expects 1 event, the steps hold 2"},
      {tso + "events 3\nprefix yes\nthread 0\nrun 0 2\nend 1", "no error"},
  });
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = tso + "end 0";
    return text.replace(text.find(from), from.size(), to);
  };
  expect_all({
      {replaced("eeff", "eef"), "f:3:10 schedule: 'identity' takes 32 hexadecimal digits (0-9, a-f)"},
      {replaced("eeff", "eeFF"), "f:3:10 schedule: 'identity' takes 32 hexadecimal digits (0-9, a-f)"},
      {replaced("/tmp", "tmp"), "f:5:8 schedule: 'folder' takes an absolute path"},
      {replaced("program a", "program ''"), "f:2:9 schedule: the header lacks program"},
      {replaced("./a", "./a $'\\x00'"), "f:6:9 schedule: 'command' holds a NUL byte"},
  });
}

TEST(ScheduleErrors, Threads) {
  const std::string sc = header("sc");
  expect_all({
      {sc + "thread", "f:7:7 schedule: expected the name of a thread, found the end of the line"},
      {sc + "thread 1", "f:7:8 schedule: expected the name of a thread, found '1'"},
      {sc + "thread 0\nthread 0:01", "f:8:8 schedule: expected the name of a thread, found '0:01'"},
      {sc + "thread 0:0", "f:7:8 schedule: thread 0:0 is listed, its creator 0 is not"},
      {sc + "thread 0\n thread 0", "f:8:9 schedule: thread 0 is listed twice"},
      {sc + "thread 0 main x", "f:7:15 schedule: expected '@' or the end of the line, found 'x'"},
      {sc + "thread 0 main @", "f:7:16 schedule: expected a place as file:line, found the end of the line"},
      {sc + "thread 0 @ a.c", "f:7:12 schedule: expected a place as file:line, found 'a.c'"},
      {sc + "thread 0 @ a.c:1 f g", "f:7:20 schedule: expected the end of the line, found 'g'"},
      {sc + "thread 0\nseed 3", "f:8:1 schedule: misplaced 'seed'"},
      {sc + "thread 0\nxyz", "f:8:1 schedule: expected 'thread' or a step, found 'xyz'"},
      {sc + "end 0", "f:7:1 schedule: no thread is listed"},
  });
}

TEST(ScheduleErrors, Steps) {
  const std::string tso = "tso", pso = "pso", sc = "sc";
  expect_all({
      {steps(sc, "run"), "f:9:4 schedule: expected the name of a thread, found the end of the line"},
      {steps(sc, "run x 1"), "f:9:5 schedule: expected the name of a thread, found 'x'"},
      {steps(sc, "run 0:7 1"), "f:9:5 schedule: thread 0:7 is not listed"},
      {steps(sc, "run 0"), "f:9:6 schedule: expected a number of events, found the end of the line"},
      {steps(sc, "run 0 all"), "f:9:7 schedule: expected a number of events, found 'all'"},
      {steps(sc, "run 0 '1'"), "f:9:7 schedule: expected a number of events, found ''1''"},
      {steps(sc, "run 0 0"), "f:9:7 schedule: a run of 0 events"},
      {steps(sc, "run 0 18446744073709551615\nrun 0 1"), "f:10:7 schedule: more than 2^64 events in all"},
      {steps(sc, "run 0 1 stopped"),
       "f:9:9 schedule: expected an end of the run, '@' or the end of the line, found 'stopped'"},
      {steps(sc, "run 0 1 blocked x"), "f:9:17 schedule: expected '@' or the end of the line, found 'x'"},
      {steps(sc, "run 0 1\nrun 0:1 1"), "f:10:5 schedule: thread 0:1 cannot exist yet"},
      {steps(sc, "run 0 2\nrun 0:1 1 exited\nrun 0:1 1"),
       "f:11:5 schedule: thread 0:1 has exited in an earlier step"},
      {steps(sc, "flush 0 1"), "f:9:1 schedule: there is nothing to flush under memory model sc"},
      {steps(tso, "flush 0"), "f:9:8 schedule: expected a number of stores, found the end of the line"},
      {steps(tso, "flush 0 0"), "f:9:9 schedule: a flush of 0 stores"},
      {steps(tso, "run 0 1\nflush 0 2"), "f:10:9 schedule: thread 0 cannot have so many buffered stores"},
      {steps(tso, "run 0 1\nflush 0 global:x+0 1"),
       "f:10:9 schedule: a flush names no location under memory model tso"},
      {steps(tso, "run 0 2\nflush 0 1 blocked"),
       "f:10:11 schedule: expected '@' or the end of the line, found 'blocked'"},
      {steps(pso, "run 0 1\nflush 0 1"), "f:10:9 schedule: a flush names a location under memory model pso"},
      {steps(pso, "run 0 1\nflush 0 x+0 1"),
       "f:10:9 schedule: expected a number of stores or a location, found 'x+0'"},
      {steps(pso, "run 0 1\nflush 0 global:x+0"),
       "f:10:19 schedule: expected a number of stores, found the end of the line"},
      {steps(pso, "run 0 1\nflush 0 global:x+0 0"), "f:10:20 schedule: a flush of 0 stores"},
      {steps(pso, "run 0 1\nflush 0 heap:0:2/1+0 1"), "f:10:9 schedule: thread 0:2 is not listed"},
      {steps(sc, "wake 0"), "f:9:6 schedule: thread 0 cannot be waiting"},
      {steps(sc, "timeout 0:1"), "f:9:9 schedule: thread 0:1 cannot exist yet"},
      {steps(sc, "run 0 1\nwake 0 1"), "f:10:8 schedule: expected '@' or the end of the line, found '1'"},
      {steps(sc, "run 0 1\nthread 0:2"), "f:10:1 schedule: misplaced 'thread'"},
      {steps(sc, "run 0 1\nstop"), "f:10:1 schedule: expected a step or 'end', found 'stop'"},
      {steps(sc, "run 0 1\x1b"), "f:9:8 schedule: a control character, '\\x1b'"},
  });
}

TEST(ScheduleErrors, End) {
  expect_all({
      {steps("sc", "run 0 1\n"), "f:9:1 schedule: the file ends without its 'end' line"},
      {steps("sc", "run 0 1\nend"), "f:10:4 schedule: expected the number of steps, found the end of the line"},
      {steps("sc", "run 0 1\nend 2"), "f:10:5 schedule: 'end' says 2 steps, the file has 1"},
      {steps("sc", "run 0 1\nend 1 x"), "f:10:7 schedule: expected the end of the line, found 'x'"},
      {steps("sc", "run 0 1\nend 1\n\nrun 0 1"), "f:12:1 schedule: 'run' stands behind the 'end' line"},
      {steps("sc", "run 0 1\nend 1\n# over\n"), "no error"},
  });
}

TEST(ScheduleErrors, TheReasonIsSaid) {
  const auto error = read_schedule(steps("sc", "run 0 1\nrun 0:1 1"), "f").error();
  EXPECT_EQ(error.why, "its creator 0 has performed 1 event; creating child 1 takes at least 2");
  EXPECT_THAT(error.next, HasSubstr("docs/schedule.md"));
  EXPECT_THAT(read_schedule("heddle schedule 2", "f").error().next, HasSubstr("the heddle that wrote it"));
  EXPECT_THAT(read_schedule(steps("sc", ""), "f").error().next, HasSubstr("copy the file again"));
}

TEST(ScheduleErrors, ChecksOfAValueNameTheStep) {
  Schedule schedule = small_schedule();
  const auto expect = [&](const char* where, const char* what) {
    const auto checked = check_schedule(schedule);
    ASSERT_FALSE(checked) << what;
    EXPECT_EQ(checked.error().where, where);
    EXPECT_THAT(checked.error().what, HasSubstr(what));
  };
  EXPECT_TRUE(check_schedule(schedule));
  const ThreadIndex main(0);
  schedule.steps = {Step::run(main, 1), Step::run(ThreadIndex(9), 1)};
  expect("step 2", "the thread of the step is not listed");
  schedule.steps[1] = Step::flush(main, 1);
  schedule.steps[1].end = SegmentEnd::exited;
  expect("step 2", "a flush has no end");
  schedule.steps[1] = Step::wake(main);
  schedule.steps[1].count = 2;
  expect("step 2", "a wake names a thread and nothing else");
  schedule.steps[1] = Step::flush(main, Location::global("x", 0), 1);
  schedule.steps[1].kind = StepKind::run;
  expect("step 2", "a run names no location");
  schedule.threads.push_back(schedule.threads[1]);
  expect("thread 4", "listed twice");
  schedule.header = {};
  expect("header", "the header lacks program, identity, folder, command");
}

}  // namespace
}  // namespace heddle
