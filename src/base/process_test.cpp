#include "base/process.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr auto kCapture = ProcessOptions::Output::capture;

TEST(Process, ReportsExitCodeSignalAndOutput) {
  const Result<ProcessEnd> end =
      run_process({"sh", "-c", "echo out; echo err >&2; exit 7"}, {.output = kCapture});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(end->output, "out\nerr\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, {.output = kCapture})->signal, 9);
}

TEST(Process, UsesFolderAndEnvironment) {
  const Result<ProcessEnd> end =
      run_process({"sh", "-c", "pwd; echo $HEDDLE_X"},
                  {.folder = "/", .environment = {{"HEDDLE_X", "y"}}, .output = kCapture});
  EXPECT_EQ(end->output, "/\ny\n");
}

TEST(Process, AMissingProgramIsAnError) {
  const Result<ProcessEnd> end = run_process({"no-such-program-here"});
  ASSERT_FALSE(end);
  EXPECT_NE(end.error().what.find("no-such-program-here"), std::string::npos);
}

TEST(Process, QuotesForTheShell) {
  EXPECT_EQ(shell_quote({"a", "b c", "it's", "", "$x"}), "a 'b c' 'it'\\''s' '' '$x'");
}

}  // namespace
}  // namespace heddle
