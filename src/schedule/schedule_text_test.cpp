// Round trips and mutated files. The messages are in schedule_errors_test.cpp.
#include "schedule/schedule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "schedule/schedule_check.h"
#include "schedule/schedule_fixture.h"

namespace heddle {
namespace {

using testing::HasSubstr;

const ThreadIndex kMain(0), kFirst(1), kSecond(2);

// As docs/schedule.md shows it.
constexpr std::string_view kExample = R"(heddle schedule 1

program       account
identity      00112233445566778899aabbccddeeff
memory-model  tso
folder        /tmp
command       ./account 'two words'
strategy      pct:3
seed          17
failure       'assert account.c:52 main: balance == 200'
events        22

thread  0    main
thread  0:0  deposit                @ account.c:40 main
thread  0:1  deposit                @ account.c:41 main

run     0      8  blocked           @ account.c:38 main
run     0:0    5                    @ account.c:12 deposit
run     0:1    6  exited            @ account.c:12 deposit
flush   0:0    1                    @ account.c:14 deposit
wake    0
run     0      3                    @ account.c:45 main
end 6
)";

Schedule example() {
  Schedule schedule = small_schedule();
  schedule.header.strategy = "pct:3";
  schedule.header.seed = 17;
  schedule.header.failure = "assert account.c:52 main: balance == 200";
  schedule.header.events = 22;
  schedule.steps = {Step::run(kMain, 8, SegmentEnd::blocked),
                    Step::run(kFirst, 5),
                    Step::run(kSecond, 6, SegmentEnd::exited),
                    Step::flush(kFirst, 1),
                    Step::wake(kMain),
                    Step::run(kMain, 3)};
  const auto at = [&](size_t step, uint32_t line, const char* function) {
    schedule.steps[step].place = std::make_shared<const CodePlace>(CodePlace{"account.c", line, function});
  };
  at(0, 38, "main"), at(1, 12, "deposit"), at(2, 12, "deposit"), at(3, 14, "deposit"), at(5, 45, "main");
  return schedule;
}

TEST(ScheduleText, IsMadeForReading) {
  EXPECT_EQ(schedule_text(example()), kExample);
  const auto read = read_schedule(kExample, "example");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, example());
  EXPECT_EQ(schedule_text(*read), kExample);
}

TEST(ScheduleText, NotesAndTheOrderOfThreadsAreNoDifference) {
  Schedule other = example();
  for (Step& step : other.steps) step.place = nullptr;
  for (ScheduleThread& thread : other.threads) thread.start.clear(), thread.created.reset();
  EXPECT_EQ(other, example());

  std::swap(other.threads[1], other.threads[2]);
  EXPECT_NE(other, example());
  for (Step& step : other.steps) {
    if (step.thread != kMain) step.thread = ThreadIndex(3 - step.thread.index());
  }
  EXPECT_EQ(other, example());
  other.threads.pop_back();
  EXPECT_NE(other, example());
}

TEST(ScheduleText, RandomSchedulesComeBack) {
  RandomSchedules random(1);
  size_t steps = 0;
  for (int i = 0; i < 5000; ++i) {
    const Schedule schedule = random.next();
    steps += schedule.steps.size();
    ASSERT_TRUE(check_schedule(schedule)) << check_schedule(schedule).error().text();
    const std::string text = schedule_text(schedule);
    const auto read = read_schedule(text, "random");
    ASSERT_TRUE(read) << read.error().text() << "\n" << text;
    ASSERT_EQ(*read, schedule) << text;
    ASSERT_EQ(schedule_text(*read), text);  // notes too
  }
  EXPECT_GT(steps, 20'000u);
}

TEST(ScheduleText, CommentsEmptyLinesAndCarriageReturnsAreSkipped) {
  std::string text;
  for (const char c : kExample) {
    if (c == '\n') text += "   # it's a \xff comment\r";
    text += c;
    if (c == '\n') text += "\t\r\n";
  }
  const auto read = read_schedule("\xef\xbb\xbf" + text, "x");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(schedule_text(*read), kExample);
  EXPECT_TRUE(read_schedule(kExample.substr(0, kExample.size() - 1), "x"));
}

TEST(ScheduleText, EveryTruncationIsFound) {
  for (size_t cut = 0; cut + 1 < kExample.size(); ++cut) {
    const auto read = read_schedule(kExample.substr(0, cut), "x");
    ASSERT_FALSE(read) << cut;
    EXPECT_FALSE(read.error().next.empty());
  }
}

TEST(ScheduleText, LocationsWithAnyNameComeBack) {
  Schedule schedule = example();
  schedule.header.memory_model = MemoryModel::pso;
  schedule.steps[3] = Step::flush(kFirst, Location::global("odd name+\n", 4), 1);
  const std::string text = schedule_text(schedule);
  EXPECT_THAT(text, HasSubstr("flush   0:0  $'global:odd name+\\n+4'    1\n"));
  EXPECT_EQ(*read_schedule(text, "x"), schedule);
  EXPECT_EQ(step_text(schedule, schedule.steps[0]), "run 0 8 blocked");
}

// Small damage of the kinds files suffer from: bytes, lines, words of the format in wrong places.
std::string mutated(std::string text, RandomSchedules& random) {
  static const std::vector<std::string> kPieces = {"run 0 1\n",
                                                   "end 3\n",
                                                   "thread 0:1\n",
                                                   "flush 0 1\n",
                                                   "@",
                                                   "0",
                                                   "-1",
                                                   "18446744073709551616",
                                                   "'",
                                                   "$'",
                                                   "\\",
                                                   "\n",
                                                   " ",
                                                   "#",
                                                   "\r",
                                                   "prefix yes\n",
                                                   "wake 0\n",
                                                   ":",
                                                   "+",
                                                   "exited ",
                                                   "global:x+1 ",
                                                   "\x01",
                                                   "\xff",
                                                   "seed 1\n"};
  for (size_t i = 1 + random.below(3); i > 0 && !text.empty(); --i) {
    const size_t at = random.below(text.size());
    const size_t line = std::min(text.rfind('\n', at) + 1, text.size());
    const size_t length = std::min(text.find('\n', at), text.size() - 1) + 1 - line;
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(8));
        break;
      case 2:
        text.insert(at, kPieces[random.below(kPieces.size())]);
        break;
      case 3:
        text.insert(line, kPieces[random.below(kPieces.size())]);
        break;
      case 4:
        text.erase(line, length);
        break;
      default:
        text.insert(line, text.substr(line, length));
    }
  }
  return text;
}

TEST(ScheduleText, MutatedFilesAreRefusedWithAPlaceOrReadToAFixpoint) {
  RandomSchedules random(2);
  const std::regex place("fuzz:([0-9]+):([0-9]+)");
  size_t accepted = 0;
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    if (i % 20 == 0) text = schedule_text(random.next());
    const std::string input = mutated(text, random);
    const auto read = read_schedule(input, "fuzz");
    if (read) {
      ++accepted;
      EXPECT_TRUE(check_schedule(*read)) << input;
      const std::string written = schedule_text(*read);
      const auto again = read_schedule(written, "again");
      ASSERT_TRUE(again) << again.error().text() << "\n" << written << "\nfrom\n" << input;
      EXPECT_EQ(*again, *read);
      EXPECT_EQ(schedule_text(*again), written);
      continue;
    }
    const Error& error = read.error();
    std::smatch match;
    ASSERT_TRUE(std::regex_match(error.where, match, place)) << error.where;
    const auto lines = static_cast<size_t>(std::ranges::count(input, '\n')) + 1;
    EXPECT_LE(std::stoul(match[1]), lines) << error.text();
    EXPECT_GE(std::stoul(match[1]), 1u);
    EXPECT_GE(std::stoul(match[2]), 1u);
    EXPECT_TRUE(error.what.starts_with("schedule: ")) << error.text();
    EXPECT_FALSE(error.next.empty()) << error.text();
    for (const char c : error.what) ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20) << error.text();
  }
  // Neither all nothing nor all anything: the mutations are of the size that tests both.
  EXPECT_GT(accepted, 5'000u);
  EXPECT_LT(accepted, 95'000u);
}

}  // namespace
}  // namespace heddle
