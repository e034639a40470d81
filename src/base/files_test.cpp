#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace heddle {
namespace {

TEST(Files, WhatWasWrittenIsRead) {
  const TempFolder folder = *TempFolder::create();
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(write_file(folder.path() / "f", bytes));
  EXPECT_EQ(*read_file(folder.path() / "f"), bytes);
}

TEST(Files, ReadsFilesThatStateNoSize) {
  EXPECT_NE(read_file("/proc/self/status")->find("Pid:"), std::string::npos);
}

TEST(Files, ErrorsNameThePath) {
  EXPECT_EQ(read_file("/no/such/file").error().where, "/no/such/file");
  EXPECT_NE(read_file("/no/such/file").error().what.find("No such file"), std::string::npos);
  EXPECT_NE(read_file("/").error().what.find("folder"), std::string::npos);
}

// The limit on file size stands for a full disk: writes fail part of the way.
TEST(Files, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const TempFolder folder = *TempFolder::create();
  ASSERT_TRUE(write_file(folder.path() / "f", "old"));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1024, 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(write_file(folder.path() / "f", std::string(100'000, 'n')) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the write should have failed";
  EXPECT_EQ(*read_file(folder.path() / "f"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Files, TempFolderGoesWithItsObject) {
  fs::path path;
  {
    TempFolder folder = *TempFolder::create();
    path = folder.path();
    ASSERT_TRUE(write_file(path / "f", "x"));
    const TempFolder moved = std::move(folder);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

// Threads stand for processes: the lock belongs to the opened file, not to the process.
TEST(Files, LockKeepsASecondHolderOut) {
  const TempFolder folder = *TempFolder::create();
  std::atomic<int> step = 0;
  auto held = std::make_unique<FileLock>(*FileLock::acquire(folder.path() / "lock"));
  std::thread other([&] {
    const Result<FileLock> lock = FileLock::acquire(folder.path() / "lock");
    EXPECT_EQ(step, 1) << "got the lock while it was held";
  });
  usleep(50'000);
  step = 1;
  held.reset();
  other.join();
}

}  // namespace
}  // namespace heddle
