#include "replay/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "abi/sync_kind.h"
#include "replay/fake_names.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::Not;

Failure failure(const Answer& answer) {
  const auto found = failure_of(answer, thread_names(answer.threads), FakeNames());
  EXPECT_TRUE(found.has_value());
  return found.value_or(Failure{});
}

Answer outcome(heddle_outcome kind, const char* text = "") {
  Answer answer = four_threads();
  answer.result.outcome = kind;
  answer.result.thread = 3;
  std::strcpy(answer.result.text, text);
  return answer;
}

heddle_wait wait(uint32_t thread, heddle_sync_kind kind, uint64_t object, uint32_t holder, uint32_t site) {
  return {thread, static_cast<uint32_t>(kind), object, holder, site};
}

TEST(Failure, AssertionStandsInTheInnermostFrameOfTheProgram) {
  Answer answer = outcome(HEDDLE_OUTCOME_assertion, "balance\n== 200");
  answer.result.load_base = 0x100000;
  answer.result.stack[0] = 0x106000;  // a library
  answer.result.stack[1] = 0x104011;  // a system header
  answer.result.stack[2] = 0x101035;  // line 0x34: the call stands before the return address
  answer.result.stack[3] = 0x102001;
  answer.result.stack_size = 4;
  const Failure f = failure(answer);
  EXPECT_EQ(f.kind, "assert");
  EXPECT_EQ(f.thread.text(), "0:0:0");
  ASSERT_EQ(f.stack.size(), 3u);
  EXPECT_EQ(f.identity, "assert a.c:52 f1: balance == 200");
  EXPECT_THAT(f.report(), HasSubstr("assertion failed"));
}

TEST(Failure, FaultingInstructionIsTheFrameItself) {
  Answer answer = outcome(HEDDLE_OUTCOME_signal);
  answer.result.number = SIGSEGV;
  answer.result.address = 0xdead;
  answer.result.stack[0] = 0x1010;
  answer.result.stack_size = 1;
  const Failure f = failure(answer);
  EXPECT_EQ(f.identity, "segv a.c:16 f1");  // without the address
  EXPECT_THAT(f.report(), HasSubstr("0xdead"));
}

TEST(Failure, SignalsHaveTheirWords) {
  for (const auto& [number, word] :
       {std::pair{SIGFPE, "fpe"}, {SIGILL, "ill"}, {SIGBUS, "bus"}, {31, "signal:31"}}) {
    Answer answer = outcome(HEDDLE_OUTCOME_signal);
    answer.result.number = number;
    EXPECT_EQ(failure(answer).kind, word);
  }
}

TEST(Failure, WithoutStackTheSiteIsThePlace) {
  Answer answer = outcome(HEDDLE_OUTCOME_abort);
  EXPECT_EQ(failure(answer).identity, "abort");
  answer.result.site = 7;
  EXPECT_EQ(failure(answer).identity, "abort a.c:7 f");
}

TEST(Failure, DeadlockNamesWhoWaitsForWhatHeldByWhom) {
  Answer answer = outcome(HEDDLE_OUTCOME_deadlock);
  answer.result.stack[0] = 0x1010;
  answer.result.stack_size = 1;
  answer.waits = {wait(2, HEDDLE_SYNC_mutex_lock, 0x9000, 1, 8), wait(0, HEDDLE_SYNC_thread_join, 0x77, 1, 9),
                  wait(1, HEDDLE_SYNC_sem_wait, 0x88, HEDDLE_NO_SITE, 10)};
  const Failure f = failure(answer);
  EXPECT_EQ(f.identity, "deadlock 0 thread_join a.c:9 f; 0:0 sem_wait a.c:10 f; 0:1 mutex_lock a.c:8 f");
  EXPECT_TRUE(f.stack.empty());
  EXPECT_THAT(f.report(), HasSubstr("thread 0:1 waits in mutex_lock for lock, held by thread 0:0, at a.c:8 f"));
  EXPECT_THAT(f.report(), HasSubstr("thread 0 waits in thread_join for thread 0:0, at"));
  // The order in which they are listed is no difference.
  std::swap(answer.waits[0], answer.waits[2]);
  EXPECT_EQ(failure(answer).identity, f.identity);
}

TEST(Failure, UseAfterFreeSaysWhoFreedIt) {
  Answer answer = outcome(HEDDLE_OUTCOME_use_after_free, "read of 4 bytes at 0x600000001000");
  answer.result.site = 4;
  answer.result.other_thread = 2;
  answer.result.other_site = 20;
  const Failure f = failure(answer);
  EXPECT_EQ(f.identity, "use-after-free a.c:4 f, freed at a.c:20 f");
  EXPECT_THAT(f.report(), HasSubstr("freed by thread 0:1 at a.c:20 f"));
  EXPECT_EQ(f.to_json()["freed_by"]["thread"], "0:1");
}

TEST(Failure, ExceptionsHaveReadableTypes) {
  EXPECT_EQ(failure(outcome(HEDDLE_OUTCOME_exception, "St12out_of_range: vector")).text,
            "std::out_of_range: vector");
  EXPECT_EQ(failure(outcome(HEDDLE_OUTCOME_exception, "i")).text, "int");
}

// It may hold numbers and addresses, which differ between two runs with the same failure.
TEST(Failure, WhatAnExceptionSaysIsNotItsIdentity) {
  const Failure f = failure(outcome(HEDDLE_OUTCOME_exception, "St12out_of_range: at 7: too\nlarge"));
  EXPECT_EQ(f.text, "std::out_of_range: at 7: too large");
  EXPECT_THAT(f.report(), HasSubstr("uncaught exception: std::out_of_range: at 7: too large\n"));
  EXPECT_EQ(f.identity, failure(outcome(HEDDLE_OUTCOME_exception, "St12out_of_range: at 9")).identity);
}

TEST(Failure, ExitCodesAndLivelocksHaveNoPlace) {
  Answer answer = outcome(HEDDLE_OUTCOME_exit_code);
  answer.result.number = 3;
  answer.result.site = 4;
  EXPECT_EQ(failure(answer).identity, "exit:3");
  answer = outcome(HEDDLE_OUTCOME_livelock);
  answer.result.site = 4;
  EXPECT_EQ(failure(answer).identity, "livelock");
}

TEST(Failure, OtherOutcomesAreNone) {
  for (const auto kind : {HEDDLE_OUTCOME_passed, HEDDLE_OUTCOME_diverged, HEDDLE_OUTCOME_limit,
                          HEDDLE_OUTCOME_uncontrolled, HEDDLE_OUTCOME_internal})
    EXPECT_FALSE(failure_of(outcome(kind), thread_names(four_threads().threads), FakeNames()));
}

}  // namespace
}  // namespace heddle
