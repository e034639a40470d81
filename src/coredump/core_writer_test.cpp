#include "coredump/core_writer.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "coredump/core_file.h"

namespace heddle {
namespace {

constexpr int kNotAllowed = 126;
volatile uint64_t marked = 0;

TEST(CoreWriter, WhatIsWrittenIsRead) {
  const Result<TempFolder> folder = TempFolder::create();
  ASSERT_TRUE(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    marked = 0x1234567890abcdef;
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNotAllowed);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "ptrace is not allowed here";
  ASSERT_TRUE(WIFSTOPPED(status));
  user_regs_struct registers{};
  ASSERT_EQ(::ptrace(PTRACE_GETREGS, child, nullptr, &registers), 0);
  siginfo_t reason{};
  reason.si_signo = SIGSEGV;
  reason.si_addr = reinterpret_cast<void*>(0x77);
  const std::filesystem::path file = folder->path() / "core";
  const Result<uint64_t> written =
      write_core({.pid = child, .threads = {child}, .signal = SIGSEGV, .reason = reason}, file);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(written);
  EXPECT_EQ(std::filesystem::file_size(file), *written);
  const Result<CoreFile> core = CoreFile::open(file);
  ASSERT_TRUE(core);
  EXPECT_EQ(core->pid(), child);
  EXPECT_EQ(core->signal(), SIGSEGV);
  EXPECT_EQ(core->fault_address(), 0x77);
  ASSERT_EQ(core->threads().size(), 1u);
  EXPECT_EQ(core->threads()[0].registers.rip, registers.rip);
  EXPECT_EQ(core->word(reinterpret_cast<uintptr_t>(&marked)), 0x1234567890abcdef);
  ASSERT_NE(core->executable(), nullptr);
  EXPECT_EQ(core->executable()->file, executable_path().string());
  EXPECT_TRUE(core->notes().empty());
}

}  // namespace
}  // namespace heddle
