#include "image/process_stacks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

namespace heddle {
namespace {

struct Shared {
  std::atomic<int> ready;
  std::atomic<int> rounds;
};

extern "C" __attribute__((noinline)) void heddle_test_waits_here(Shared* shared) {
  ++shared->ready;
  while (true) ::pause();
}

extern "C" __attribute__((noinline)) void heddle_test_runs_here(Shared* shared) {
  ++shared->ready;
  while (true) ++shared->rounds;
}

bool has(const std::vector<ProcessFrame>& frames, const char* symbol) {
  return std::ranges::any_of(frames, [&](const ProcessFrame& frame) { return frame.symbol == symbol; });
}

class ProcessStacks : public ::testing::Test {
 protected:
  void SetUp() override {
    shared_ = static_cast<Shared*>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child_ = ::fork();
    if (child_ == 0) {
      std::thread other([this] { heddle_test_runs_here(shared_); });
      heddle_test_waits_here(shared_);
      ::_exit(0);
    }
    while (shared_->ready < 2) ::usleep(1000);
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    int status = 0;
    ::waitpid(child_, &status, 0);
    ::munmap(shared_, sizeof(Shared));
  }

  Shared* shared_ = nullptr;
  pid_t child_ = 0;
};

TEST_F(ProcessStacks, ShowsWhereEveryThreadIs) {
  const auto stopped = StoppedProcess::stop(child_);
  ASSERT_TRUE(stopped) << stopped.error().text();
  ASSERT_EQ(stopped->threads().size(), 2u);
  auto stacks = stopped->stacks(100);
  ASSERT_EQ(stacks.size(), 2u);
  const std::vector<ProcessFrame>& main = stacks[child_];
  const pid_t other = stopped->threads()[0] == child_ ? stopped->threads()[1] : stopped->threads()[0];
  EXPECT_TRUE(has(main, "heddle_test_waits_here"));
  EXPECT_TRUE(has(main, "main"));
  EXPECT_TRUE(has(stacks[other], "heddle_test_runs_here"));
  EXPECT_FALSE(has(stacks[other], "main"));
  EXPECT_TRUE(main.front().exact);
  EXPECT_EQ(main.front().pc, stopped->pc_of(child_));
  EXPECT_NE(main.front().module.find("libc"), std::string::npos);
  for (const auto& [thread, frames] : stopped->stacks(1)) EXPECT_EQ(frames.size(), 1u);
}

TEST_F(ProcessStacks, NothingRunsMeanwhileAndEverythingAfterwards) {
  {
    const auto stopped = StoppedProcess::stop(child_);
    ASSERT_TRUE(stopped);
    const int before = shared_->rounds;
    ::usleep(20000);
    EXPECT_EQ(before, shared_->rounds);
    int seen = -1;
    EXPECT_EQ(stopped->read(reinterpret_cast<uint64_t>(&shared_->rounds), &seen, sizeof seen), sizeof seen);
    EXPECT_EQ(seen, before);
    EXPECT_EQ(stopped->read(8, &seen, sizeof seen), 0u);
  }
  const int after = shared_->rounds;
  for (int i = 0; i < 1000 && shared_->rounds == after; ++i) ::usleep(1000);
  EXPECT_NE(shared_->rounds, after);
}

TEST_F(ProcessStacks, EndOfTheProcessIsLeftToItsParent) {
  {
    const auto stopped = StoppedProcess::stop(child_);
    ASSERT_TRUE(stopped);
    ::kill(child_, SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child_, &status, 0), child_);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST_F(ProcessStacks, ASignalThatWasOnItsWayArrives) {
  ::kill(child_, SIGSTOP);
  {
    const auto stopped = StoppedProcess::stop(child_);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
  EXPECT_TRUE(WIFSTOPPED(status));
}

TEST(ProcessStacksErrors, ProcessThatIsGone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto stopped = StoppedProcess::stop(child);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().what.find("cannot be stopped"), std::string::npos);
}

}  // namespace
}  // namespace heddle
