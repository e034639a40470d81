// Sessions against a fake runtime: this test program itself, started anew with HEDDLE_CONTROL set.
#include "replay/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace heddle {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using End = SessionAnswer::End;

// ---- the program's side. What it does is said by argv[1].

void answer(heddle_control_block* block) {
  __atomic_store_n(&block->answer, block->request, __ATOMIC_SEQ_CST);
  ::syscall(SYS_futex, &block->answer, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

template <class T>
T* array(heddle_control_block* block, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + offset);
}

// One thread, which follows the given steps if there are any.
void perform(heddle_control_block* block) {
  heddle_result& result = block->result;
  result = {};
  result.executions = block->plan.runs;
  result.seed = block->plan.seed + block->plan.runs - 1;
  result.threads = 1;
  result.steps = block->plan.steps;
  std::memcpy(array<heddle_step>(block, block->layout.steps_out),
              array<heddle_step>(block, block->layout.steps_in), block->plan.steps * sizeof(heddle_step));
  array<heddle_thread_entry>(block, block->layout.threads)[0] = {};
}

[[noreturn]] void act(const std::string& what, heddle_control_block* block) {
  ::signal(SIGRTMAX - 1, SIG_IGN);
  while (true) {
    while (__atomic_load_n(&block->request, __ATOMIC_SEQ_CST) == block->answer)
      ::syscall(SYS_futex, &block->request, FUTEX_WAIT, block->answer, nullptr, nullptr, 0);
    if (what == "die") std::abort();
    if (what == "leave") ::_exit(5);
    if (what == "hang") {
      block->running_call = 1;
      block->running_site = 17;
      std::memset(block->running_name, 'x', sizeof block->running_name);  // not terminated
      while (true) ::pause();
    }
    if (what == "work") {
      while (block->quit == 0) {
        ++block->progress;
        ::usleep(1000);
      }
    }
    if (what == "compute") {  // 20 ms of processor time, which others hardly leave to it
      const sched_param lowest{};
      ::sched_setscheduler(0, SCHED_IDLE, &lowest);
      timespec used{};
      do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
      while (used.tv_sec == 0 && used.tv_nsec < 20'000'000);
    }
    if (what == "pause") {  // after some work, which is no excuse
      timespec used{};
      do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
      while (used.tv_sec == 0 && used.tv_nsec < 300'000'000);
      while (true) ::pause();
    }
    if (what == "child") {  // that would outlive it
      if (::fork() == 0)
        while (true) ::pause();
      while (true) ::pause();
    }
    perform(block);
    if (what == "wild") {
      block->result.steps = UINT64_MAX;
      block->result.threads = UINT32_MAX;
      block->result.outcome = HEDDLE_OUTCOME_abort;
      block->result.stack_size = UINT32_MAX;
      std::memset(block->result.text, 'x', sizeof block->result.text);
      block->layout.steps_out = UINT64_MAX / 2;
    }
    if (what == "environment") {
      std::string all;
      for (char** at = environ; *at != nullptr; ++at) all += std::string(*at) + " ";
      std::strncpy(block->result.text, all.c_str(), HEDDLE_CONTROL_TEXT - 1);
      block->result.number = ::personality(0xffffffff) & ADDR_NO_RANDOMIZE;
      // The descriptors that are open.
      for (int fd = 3; fd < 2000; ++fd)
        if (::fcntl(fd, F_GETFD) >= 0)
          block->result.address = block->result.address * 10000 + static_cast<uint64_t>(fd);
    }
    answer(block);
    if (what == "once") ::_exit(0);
  }
}

// Before main(), as the runtime does.
__attribute__((constructor)) void become_fake() {
  const char* fd = std::getenv(HEDDLE_CONTROL_VARIABLE);
  if (fd == nullptr) return;
  heddle_control_block head;
  if (::pread(std::atoi(fd), &head, sizeof head, 0) != sizeof head) ::_exit(99);
  void* base = ::mmap(nullptr, head.layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(fd), 0);
  const std::string words = *read_file("/proc/self/cmdline");
  act(words.c_str() + words.find('\0') + 1, static_cast<heddle_control_block*>(base));
}

// ---- heddle's side

TargetSpec spec(const std::string& what) {
  return {.executable = executable_path(),
          .argv = {"program", what},
          .environment = controlled_environment({"MINE=1"}),
          .folder = "/"};
}

ControlSession start(const std::string& what, milliseconds patience = std::chrono::seconds(10)) {
  auto session = ControlSession::start(
      spec(what), {.capacity = {.steps_in = 1000, .steps_out = 1000}, .patience = patience});
  if (!session) {
    ADD_FAILURE() << session.error().text();
    std::abort();
  }
  return *std::move(session);
}

Result<SessionAnswer> ask(ControlSession& session, std::optional<milliseconds> time = std::nullopt,
                          const GivenSteps* given = nullptr) {
  heddle_plan plan{};
  plan.runs = 3;
  plan.seed = 10;
  std::optional<Clock::time_point> deadline;
  if (time) deadline = Clock::now() + *time;
  return session.request(plan, given, deadline, ControlMemory::Detail::all);
}

TEST(Session, AnswersSeveralRequests) {
  ControlSession session = start("serve");
  GivenSteps given;
  given.steps.resize(2);
  given.steps[0].count = 7;
  given.threads.resize(1);
  for (int i = 0; i < 3; ++i) {
    const auto got = ask(session, std::nullopt, &given);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->end, End::answered);
    EXPECT_EQ(got->executions, 3u);
    EXPECT_EQ(got->answer.result.seed, 12u);
    ASSERT_EQ(got->answer.steps.size(), 2u);
    EXPECT_EQ(got->answer.steps[0].count, 7u);
  }
  EXPECT_TRUE(session.alive());
}

TEST(Session, StartsTheSameWayEachTime) {
  ControlSession session = start("environment");
  const auto got = ask(session);
  ASSERT_TRUE(got);
  EXPECT_STREQ(
      got->answer.result.text,
      "HOME=/nonexistent LANG=C.UTF-8 MINE=1 PATH=/usr/local/bin:/usr/bin:/bin TZ=UTC HEDDLE_CONTROL=1000 ");
  EXPECT_NE(got->answer.result.number, 0);
  EXPECT_EQ(got->answer.result.address, 1000u);
}

TEST(Session, TheLastActCounts) {
  ControlSession session = start("once");
  const auto got = ask(session);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::answered);
  session.finish();
  EXPECT_FALSE(session.alive());
}

TEST(Session, DeathIsNoticed) {
  ControlSession dies = start("die"), leaves = start("leave");
  const auto first = ask(dies), second = ask(leaves);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->end, End::died);
  EXPECT_EQ(WTERMSIG(first->status), SIGABRT);
  EXPECT_EQ(second->end, End::died);
  EXPECT_EQ(WEXITSTATUS(second->status), 5);
}

TEST(Session, AHangIsFoundAndNamed) {
  ControlSession session = start("hang", milliseconds(200));
  const auto got = ask(session);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::hung);
  EXPECT_EQ(got->site, 17u);
  EXPECT_EQ(got->call, std::string(64, 'x'));
  EXPECT_FALSE(session.alive());
}

// The processor on which this test runs, for as long as this lives.
class BusyProcessor {
 public:
  BusyProcessor() : before_(affinity()) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (pid_t& child : children_)
      if ((child = ::fork()) == 0) {
        ::alarm(60);
        for (volatile uint64_t rounds = 0;; rounds = rounds + 1) {
        }
      }
  }
  ~BusyProcessor() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  static cpu_set_t affinity() {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }
  cpu_set_t before_;
  std::array<pid_t, 2> children_{};
};

TEST(Session, WhoWaitsForTheProcessorDoesNotHang) {
  const BusyProcessor busy;
  ControlSession session = start("compute", milliseconds(500));
  const auto begin = Clock::now();
  const auto got = ask(session);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::answered);
  EXPECT_GT(Clock::now() - begin, milliseconds(500)) << "it was not kept from the processor";
}

TEST(Session, WorkBeforeAHangIsNoExcuse) {
  ControlSession session = start("pause", milliseconds(500));
  const auto begin = Clock::now();
  const auto got = ask(session);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::hung);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST(Session, StopsAtTheDeadline) {
  ControlSession works = start("work"), hangs = start("child");
  auto got = ask(works, milliseconds(100));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::answered);  // asked to stop, it did
  got = ask(hangs, milliseconds(100));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end, End::out_of_time);
}

TEST(Session, DamagedMemoryIsAnErrorAndNoCrash) {
  ControlSession session = start("wild");
  const auto got = ask(session);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, testing::HasSubstr("overwrote"));
}

TEST(Target, MissingProgramsAndFoldersAreErrors) {
  TargetSpec missing = spec("serve");
  missing.executable = "/nonexistent/program";
  EXPECT_FALSE(ControlSession::start(missing, {}));
  missing = spec("serve");
  missing.folder = "/nonexistent";
  const auto got = ControlSession::start(missing, {});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, testing::HasSubstr("folder"));
}

TEST(Target, SpecsSurviveTheWayThroughAFile) {
  const TargetSpec one{
      .executable = "/a b", .argv = {"x", "", "\xff\n"}, .environment = {"A=1", "B="}, .folder = "/f"};
  const auto two = TargetSpec::parse(one.bytes());
  ASSERT_TRUE(two);
  EXPECT_EQ(two->executable, one.executable);
  EXPECT_EQ(two->argv, one.argv);
  EXPECT_EQ(two->environment, one.environment);
  EXPECT_EQ(two->folder, one.folder);
  EXPECT_FALSE(TargetSpec::parse(""));
  EXPECT_FALSE(TargetSpec::parse(std::string("a\0b\0", 4)));
  EXPECT_FALSE(TargetSpec::parse(std::string("a\0b\0\x39\0c\0", 8)));
}

}  // namespace
}  // namespace heddle
