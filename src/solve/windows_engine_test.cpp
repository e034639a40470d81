#include "solve/windows_engine.h"

#include <gtest/gtest.h>

#include "solve/carried_state.h"
#include "solve/ladder.h"
#include "solve/order_needs.h"

namespace heddle {
namespace {

SolveAnswer expect_found(const Problem& problem, uint32_t events) {
  SolveAnswer answer = make_windows_engine(events)->solve(problem, {});
  EXPECT_EQ(text_of(answer.verdict), "found") << answer.why;
  EXPECT_EQ(evaluate(*problem.trace, problem.model, answer.order).kind, Evaluation::Kind::holds);
  EXPECT_TRUE(respects_facts(problem, answer.order));
  return answer;
}

TEST(WindowsEngine, SolvesPartByPart) {
  const Ladder ladder(400);
  const SolveAnswer answer = expect_found(ladder.problem(true), 200);
  EXPECT_GE(answer.statistics.at("windows"), 3);
  EXPECT_FALSE(answer.statistics.contains("decisions"));  // the whole was not solved
}

// With few events a window cannot tell which values are right.
TEST(WindowsEngine, TakesWindowsBackThatLeadNowhere) {
  uint64_t taken_back = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Ladder ladder(200, seed);
    taken_back += expect_found(ladder.problem(true), 40).statistics.at("windows taken back");
  }
  EXPECT_GT(taken_back, 0);
}

TEST(WindowsEngine, SolvesTheWholeWithoutClocks) {
  const Ladder ladder(100);
  EXPECT_FALSE(expect_found(ladder.problem(false), 40).statistics.contains("windows"));
}

TEST(CarriedState, KeepsWhatLeadsToTheStateOfSynchronisation) {
  constexpr uint64_t kMutex = 0x1000, kCondition = 0x1100, kFree = 0x1200, kSemaphore = 0x1300;
  TraceBuilder builder(2);
  builder.add(0, {.kind = EventKind::lock, .address = kFree});
  builder.add(0, {.kind = EventKind::unlock, .address = kFree});
  builder.add(0, {.kind = EventKind::lock, .address = kMutex});
  builder.add(0, {.kind = EventKind::wait_begin, .address = kCondition, .second = kMutex});
  builder.add(1, {.kind = EventKind::semaphore_post, .address = kSemaphore});
  builder.add(1, {.kind = EventKind::semaphore_post, .address = kSemaphore});
  builder.add(1, {.kind = EventKind::signal, .address = kCondition});
  const Trace& trace = builder.trace;
  std::vector<LivePlan> plans;
  for (uint32_t t = 0; t < 2; ++t) plans.emplace_back(trace.threads[t], t, Expr{});
  CarriedState state(trace, plans);
  for (uint32_t t = 0; t < 2; ++t)
    for (uint32_t e = 0; e < trace.threads[t].events.size(); ++e) state.perform({t, e});

  const auto kept_for = [&](Event event) {
    std::string out;
    for (const CarriedState::Kept& kept : state.kept_for({&event}))
      out += std::string(text_of(kept.event.kind)) + " " + std::to_string(kept.event.second % 256) + ", ";
    return out;
  };
  EXPECT_EQ(kept_for({.kind = EventKind::lock, .address = kFree}), "");
  EXPECT_EQ(kept_for({.kind = EventKind::lock, .address = kMutex}), "lock 0, wait 0, signal 0, ");
  EXPECT_EQ(kept_for({.kind = EventKind::wait_end, .address = kCondition, .second = kMutex}),
            "lock 0, wait 0, signal 0, ");
  EXPECT_EQ(kept_for({.kind = EventKind::semaphore_wait, .address = kSemaphore}), "init 2, ");
}

}  // namespace
}  // namespace heddle
