#include "replay/prefix_snapshots.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

heddle_step run_step(uint16_t thread, uint64_t count) {
  heddle_step step{};
  step.kind = HEDDLE_STEP_run;
  step.thread = thread;
  step.count = count;
  return step;
}

GivenSteps given(std::vector<heddle_step> steps) {
  GivenSteps out{.steps = std::move(steps), .threads = {}};
  for (uint32_t i = 0; i < 3; ++i) out.threads.push_back({.creator = 0, .child = i == 0 ? 0 : i - 1});
  return out;
}

// A run that left snapshot 1 behind these steps.
SessionAnswer answer_with(uint64_t steps, uint64_t count) {
  SessionAnswer answer;
  answer.snapshots_taken = 1u << 1;
  answer.snapshots[1] = {.steps = steps, .count = count, .events = 50};
  return answer;
}

class PrefixSnapshotsTest : public testing::Test {
 protected:
  uint32_t server_of(const GivenSteps& steps, heddle_plan plan = {}) {
    return snapshots_.request(plan, steps).server;
  }

  void leave(const GivenSteps& steps, uint64_t begun, uint64_t count) {
    heddle_plan plan{};
    snapshots_.request(plan, steps);
    EXPECT_TRUE(plan.snapshots & 1u << 1);
    EXPECT_EQ(plan.snapshots & 1, 0u);
    EXPECT_TRUE(snapshots_.performed(answer_with(begun, count)));
  }

  PrefixSnapshots snapshots_{SnapshotUse::always};
};

TEST_F(PrefixSnapshotsTest, ServesWhoSharesThePrefix) {
  leave(given({run_step(0, 70), run_step(1, 1)}), 1, 50);
  EXPECT_EQ(server_of(given({run_step(0, 50), run_step(2, 1)})), 1u);
  EXPECT_EQ(server_of(given({run_step(0, 90)})), 1u);
  EXPECT_EQ(server_of(given({run_step(0, 49), run_step(1, 1)})), 0u);
  EXPECT_EQ(server_of(given({run_step(1, 70)})), 0u);
  EXPECT_EQ(snapshots_.counts().taken, 1u);
}

TEST_F(PrefixSnapshotsTest, StepsBeforeTheLastMustBeTheSame) {
  leave(given({run_step(0, 10), run_step(1, 40), run_step(0, 1)}), 2, 30);
  EXPECT_EQ(server_of(given({run_step(0, 10), run_step(1, 30)})), 1u);
  EXPECT_EQ(server_of(given({run_step(0, 11), run_step(1, 40)})), 0u);
}

TEST_F(PrefixSnapshotsTest, PlansMustBeAlike) {
  leave(given({run_step(0, 70)}), 1, 50);
  heddle_plan other{};
  other.livelock_bound = 7;
  EXPECT_EQ(server_of(given({run_step(0, 70)}), other), 0u);
}

TEST_F(PrefixSnapshotsTest, ThreadsMustBeTheSame) {
  leave(given({run_step(0, 10), run_step(2, 40)}), 2, 30);
  GivenSteps other = given({run_step(0, 10), run_step(2, 40)});
  other.threads[2].creator = 1;
  EXPECT_EQ(server_of(other), 0u);
}

TEST_F(PrefixSnapshotsTest, GoWithTheirProcess) {
  leave(given({run_step(0, 70)}), 1, 50);
  EXPECT_EQ(snapshots_.kept(), 1u << 1);
  snapshots_.session_ended();
  EXPECT_EQ(snapshots_.kept(), 0u);
  EXPECT_EQ(server_of(given({run_step(0, 70)})), 0u);
}

TEST_F(PrefixSnapshotsTest, LostOneIsNotAskedAgain) {
  const Schedule schedule{.header = {}, .threads = {}, .steps = {Step::run(ThreadIndex(0), 70)}};
  const ExecutionPlan plan{.schedule = &schedule};
  leave(given({run_step(0, 70)}), 1, 50);
  EXPECT_TRUE(snapshots_.wanted(plan));
  EXPECT_EQ(server_of(given({run_step(0, 70)})), 1u);
  EXPECT_FALSE(snapshots_.performed({.end = SessionAnswer::End::hung}));
  EXPECT_FALSE(snapshots_.wanted(plan));
}

TEST(PrefixSnapshotsPolicy, ShortPrefixesAreNotWorthIt) {
  PrefixSnapshots snapshots(SnapshotUse::automatic);
  const Schedule schedule{.header = {}, .threads = {}, .steps = {Step::run(ThreadIndex(0), 70)}};
  const ExecutionPlan plan{.schedule = &schedule};
  EXPECT_TRUE(snapshots.wanted(plan));
  heddle_plan asked{};
  snapshots.request(asked, given({run_step(0, 70)}));
  EXPECT_GT(asked.snapshot_time, 0u);
  EXPECT_TRUE(snapshots.performed({}));  // it left none
  EXPECT_FALSE(snapshots.wanted(plan));
  heddle_result longer{};
  longer.processor_time = 1'000'000'000;
  snapshots.note_run(longer);
  EXPECT_TRUE(snapshots.wanted(plan));
}

}  // namespace
}  // namespace heddle
