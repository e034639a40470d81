#include "explore/shared_hash_set.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>

namespace heddle {
namespace {

Hash128 hash(uint64_t number) {
  return hash_of({number});
}

// Processes that each insert all of so many fingerprints, from a place of their own on or side by side: each is
// new to one of them, or to two that met while a table became full.
void tell_one_process_only(bool side_by_side) {
  constexpr uint64_t kFingerprints = 300'000;
  constexpr uint32_t kProcesses = 4;
  SharedHashSet set;
  auto* fresh = static_cast<std::atomic<uint64_t>*>(
      ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (uint32_t p = 1; p <= kProcesses; ++p) {
    if (::fork() != 0) continue;
    set.set_owner(p);
    const uint64_t first = side_by_side ? 0 : std::minstd_rand(p)() % kFingerprints;
    for (uint64_t i = 0; i < kFingerprints; ++i) *fresh += set.insert(hash((first + i) % kFingerprints));
    ::_exit(0);
  }
  for (uint32_t p = 0; p < kProcesses; ++p) ASSERT_GT(::wait(nullptr), 0);
  EXPECT_GE(*fresh, kFingerprints);
  EXPECT_LE(*fresh, kFingerprints + 100);
  for (uint64_t i = 0; i < kFingerprints; ++i) EXPECT_FALSE(set.insert(hash(i)));
  EXPECT_TRUE(set.insert(hash(kFingerprints)));
}

TEST(SharedHashSet, TellsOneProcessOnlyThatItIsNew) {
  tell_one_process_only(false);
}

TEST(SharedHashSet, TellsOneOfTwoThatMeet) {
  for (int round = 0; round < 5; ++round) tell_one_process_only(true);
}

TEST(SharedHashSet, GivesWhatAVoidOwnerHadToTheNext) {
  SharedHashSet set;
  for (uint32_t owner : {1, 2}) {
    set.set_owner(owner);
    for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(set.insert(hash(1000 * owner + i)));
  }
  ASSERT_TRUE(set.make_void(1));
  set.set_owner(3);
  for (uint64_t i = 1000; i < 3000; ++i) EXPECT_EQ(set.insert(hash(i)), i < 2000) << i;
  for (uint64_t i = 1000; i < 3000; ++i) EXPECT_FALSE(set.insert(hash(i))) << "it has an owner again: " << i;
}

// A process that is killed at any moment: what it had not inserted is new, and nobody waits for it.
TEST(SharedHashSet, OutlivesProcessesThatAreKilled) {
  std::minstd_rand random;
  for (int round = 0; round < 20; ++round) {
    SharedHashSet set;
    const pid_t process = ::fork();
    if (process == 0) {
      set.set_owner(7);
      for (uint64_t i = 0;; ++i) set.insert(hash(i));
    }
    ::usleep(random() % 5000);
    ::kill(process, SIGKILL);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    ASSERT_TRUE(set.make_void(7));
    set.set_owner(8);
    for (uint64_t i = 0; i < 2000; ++i) EXPECT_TRUE(set.insert(hash(i))) << i;
    for (uint64_t i = 0; i < 2000; ++i) EXPECT_FALSE(set.insert(hash(i))) << i;
  }
}

TEST(SharedHashSet, SaysWhenTooManyOwnersAreVoid) {
  SharedHashSet set;
  uint32_t owner = 1;
  while (owner < 100'000 && set.make_void(owner)) ++owner;
  EXPECT_GT(owner, 500U);
  EXPECT_LT(owner, 100'000U);
}

}  // namespace
}  // namespace heddle
