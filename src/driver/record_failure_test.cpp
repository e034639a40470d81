#include "driver/record_failure.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "driver/recorded_program.h"
#include "replay/fake_names.h"

namespace heddle {
namespace {

constexpr uint64_t kBase = 0x10000;

// FakeNames: 0x1000 per function, the line is the rest of the address.
ProcessFrame frame(uint64_t address, bool exact = false) {
  return {.pc = kBase + address, .exact = exact, .module = "/cache/program", .module_base = kBase};
}

heddle_record_process told(uint32_t failure, int signal, const char* text = "", const char* text2 = "") {
  heddle_record_process process{};
  process.failed = 1;
  process.failure = failure;
  process.signal = signal;
  std::strcpy(process.thread, "0.2");
  std::strcpy(process.text, text);
  std::strcpy(process.text2, text2);
  return process;
}

const ProcessStatus kAborted{.signal = SIGABRT};

TEST(RecordFailure, Assertion) {
  const auto failure =
      recorded_failure(told(HEDDLE_RECORD_assert_failure, SIGABRT, "balance == 200", "a.c:52: main"), kAborted,
                       {frame(0x1035), frame(0x2008)}, FakeNames());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, "assert");
  EXPECT_EQ(failure->identity, "assert a.c:52 f1: balance == 200");
  EXPECT_EQ(failure->headline, "assertion failed: balance == 200");
  EXPECT_EQ(failure->thread, "0.2");
  EXPECT_EQ(failure->place->line, 52u);
}

TEST(RecordFailure, AbortAndException) {
  const auto abort =
      recorded_failure(told(HEDDLE_RECORD_signal_failure, SIGABRT), kAborted, {frame(0x1008)}, FakeNames());
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->identity, "abort a.c:7 f1");
  const auto exception =
      recorded_failure(told(HEDDLE_RECORD_exception_failure, SIGABRT, "St13runtime_error", "no money"),
                       kAborted, {frame(0x1008)}, FakeNames());
  ASSERT_TRUE(exception);
  EXPECT_EQ(exception->kind, "exception");
  EXPECT_TRUE(exception->identity.starts_with("exception a.c:7 f1: std::runtime_error")) << exception->identity;
  EXPECT_EQ(exception->headline, "uncaught exception: std::runtime_error: no money");
  const auto silent =
      recorded_failure(told(HEDDLE_RECORD_exception_failure, SIGABRT, "i"), kAborted, {}, FakeNames());
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->headline, "uncaught exception: int");
}

TEST(RecordFailure, FaultAtTheInstructionItself) {
  heddle_record_process process = told(HEDDLE_RECORD_signal_failure, SIGSEGV);
  process.address = 0x18;
  const auto failure =
      recorded_failure(process, {.signal = SIGSEGV}, {frame(0x1010, true), frame(0x2010)}, FakeNames());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->identity, "segv a.c:16 f1");
  EXPECT_EQ(failure->address, "0x18");
}

TEST(RecordFailure, FaultInALibraryThatTheProgramCalled) {
  const auto failure = recorded_failure(told(HEDDLE_RECORD_signal_failure, SIGSEGV), {.signal = SIGSEGV},
                                        {frame(0x1011)}, FakeNames());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->identity, "segv a.c:16 f1") << "the call, not what is behind it";
}

TEST(RecordFailure, AVeryDeepStackIsCut) {
  std::vector<ProcessFrame> stack(100000, frame(0x1010));
  const auto failure =
      recorded_failure(told(HEDDLE_RECORD_signal_failure, SIGSEGV), {.signal = SIGSEGV}, stack, FakeNames());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, "segv");
}

TEST(RecordFailure, ByTheStatusAlone) {
  const heddle_record_process nothing{};
  EXPECT_EQ(recorded_failure(nothing, {.signal = SIGKILL}, {}, FakeNames())->identity, "signal:9");
  EXPECT_EQ(recorded_failure(nothing, {.signal = SIGABRT}, {}, FakeNames())->identity, "abort");
  const auto code = recorded_failure(nothing, {.exit_code = 3}, {}, FakeNames());
  EXPECT_EQ(code->identity, "exit:3");
  EXPECT_EQ(code->thread, "");
  EXPECT_FALSE(recorded_failure(nothing, {.exit_code = 0}, {}, FakeNames()));
}

TEST(RecordFailure, AProgramThatLivesOnHasNotFailed) {
  const heddle_record_process process = told(HEDDLE_RECORD_signal_failure, SIGSEGV);
  EXPECT_FALSE(recorded_failure(process, {.exit_code = 0}, {}, FakeNames()));
}

TEST(RecordFailure, NonsenseInTheProcessFile) {
  const auto failure = recorded_failure(told(77, 12345), {.signal = SIGSEGV}, {}, FakeNames());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, "segv");
}

TEST(RecordFailure, HangsAreNamedByTheirPlaces) {
  const RecordedFrame outside{.function = "futex", .library = "libc.so.6", .pc = 1};
  const RecordedFrame a{.function = "worker", .file = "a.c", .line = 7},
      b{.function = "main", .file = "a.c", .line = 3};
  const RecordedFailure hang =
      recorded_hang(std::chrono::milliseconds(1500), {{.name = "0", .stack = {outside, b}},
                                                      {.name = "0.1", .stack = {a, b}},
                                                      {.name = "0.2", .stack = {outside, a}},
                                                      {}});
  EXPECT_EQ(hang.kind, "hang");
  EXPECT_EQ(hang.identity, "hang a.c:3 main; a.c:7 worker");
  EXPECT_EQ(hang.headline, "hang: the program has not ended within 1.50 s");
  const RecordedFrame header{.function = "std::mutex::lock()", .file = "/usr/include/std_mutex.h", .line = 100};
  EXPECT_EQ(recorded_hang(std::nullopt, {{.name = "0", .stack = {outside, header, b}}}).identity,
            "hang a.c:3 main");
  EXPECT_EQ(recorded_hang(std::chrono::seconds(1), {}).identity, "hang");
  EXPECT_EQ(recorded_hang(std::nullopt, {}).headline, "hang: all threads wait for each other");
}

TEST(RecordVariant, NamedByTheOptions) {
  EXPECT_EQ(record_variant_name({}), "record");
  EXPECT_EQ(record_variant_name({.policy = "paths"}), "record-paths");
  EXPECT_EQ(record_variant_name({.policy = "clap", .chaos = true}), "record-clap-chaos");
  EXPECT_EQ(record_variant_name({.chaos = true}), "record-chaos");
  EXPECT_EQ(record_variant_name({.memory_model = "pso"}), "record-buffers");
}

TEST(RecordFailure, FramesOfTheHandlerAreLeftOut) {
  const std::vector<ProcessFrame> stack = {frame(1, true), frame(2), frame(3, true), frame(4)};
  EXPECT_EQ(frames_from(stack, kBase + 3).size(), 2u);
  EXPECT_EQ(frames_from(stack, kBase + 2).size(), 4u) << "a return address is no place of a signal";
  EXPECT_EQ(frames_from(stack, 99).size(), 4u);
}

}  // namespace
}  // namespace heddle
