// What the engine `ordering` answers for small programs, and for one that is not small. Random problems:
// cross_check_test.cpp.
#include "solve/ordering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solve/ladder.h"
#include "solve/order_measures.h"
#include "solve/order_needs.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x1100, kM = 0x2000, kN = 0x2008;
constexpr MemoryModel kModels[] = {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso};

SolveAnswer solve(const Problem& problem, const SolveLimits& limits = {}) {
  const SolveAnswer answer = make_ordering_engine()->solve(problem, limits);
  if (answer.verdict != SolveVerdict::found) return answer;
  const Evaluation judged = evaluate(*problem.trace, problem.model, answer.order);
  EXPECT_EQ(judged.kind, Evaluation::Kind::holds) << judged.text(*problem.trace);
  EXPECT_TRUE(respects_facts(problem, answer.order));
  const OrderMeasures measures = measure(problem, answer.order);
  EXPECT_EQ(answer.preemptions, measures.preemptions);
  EXPECT_EQ(answer.switches, measures.switches);
  return answer;
}

// All threads come to their ends.
void must_end(TraceBuilder& program) {
  program.trace.failure.kind = FailurePredicate::Kind::deadlock;
  for (uint32_t t = 0; t < program.trace.threads.size(); ++t)
    program.trace.failure.waiting.push_back({t, {.kind = EventKind::once_passed, .address = 0x9000}});
}

void require_value(TraceBuilder& program, uint32_t thread, Expr read, uint64_t value) {
  ExprPool& pool = program.pool(thread);
  program.require(thread, pool.binary(ExprOp::eq, read, pool.constant(value, pool.width(read))));
}

// Verdicts by memory model.
void expect(TraceBuilder& program, std::string_view sc, std::string_view tso, std::string_view pso) {
  must_end(program);
  const std::string_view expected[] = {sc, tso, pso};
  for (const MemoryModel model : kModels)
    EXPECT_EQ(text_of(solve({.trace = &program.trace, .model = model}).verdict),
              expected[static_cast<unsigned>(model)])
        << text_of(model);
}

TEST(Ordering, StoreBuffering) {
  TraceBuilder program(2);
  for (const uint32_t t : {0U, 1U}) {
    program.write(t, t == 0 ? kX : kY, 1);
    require_value(program, t, program.read(t, t == 0 ? kY : kX), 0);
  }
  expect(program, "impossible", "found", "found");
}

TEST(Ordering, StoreBufferingWithFences) {
  TraceBuilder program(2);
  for (const uint32_t t : {0U, 1U}) {
    program.write(t, t == 0 ? kX : kY, 1);
    program.fence(t, AccessOrder::seq_cst);
    require_value(program, t, program.read(t, t == 0 ? kY : kX), 0);
  }
  expect(program, "impossible", "impossible", "impossible");
}

TEST(Ordering, MessagePassing) {
  for (const AccessOrder order : {AccessOrder::plain, AccessOrder::release}) {
    TraceBuilder program(2);
    program.write(0, kX, 1);
    program.write(0, kY, 1, order);
    require_value(program, 1, program.read(1, kY), 1);
    require_value(program, 1, program.read(1, kX), 0);
    expect(program, "impossible", "impossible", order == AccessOrder::plain ? "found" : "impossible");
  }
}

TEST(Ordering, ReadsItsOwnBufferedWriteFirst) {
  TraceBuilder program(2);
  for (const uint32_t t : {0U, 1U}) {
    program.write(t, t == 0 ? kX : kY, 1);
    require_value(program, t, program.read(t, t == 0 ? kX : kY), 1);
    require_value(program, t, program.read(t, t == 0 ? kY : kX), 0);
  }
  expect(program, "impossible", "found", "found");
}

TEST(Ordering, PartsOfAValueComeFromSeveralWrites) {
  for (const uint64_t wanted : {0x0201, 0x0100, 0x0002}) {
    TraceBuilder program(2);
    program.write(0, kX, program.pool(0).constant(1, 8));
    program.write(0, kX + 1, program.pool(0).constant(2, 8));
    require_value(program, 1, program.read(1, kX, 2), wanted);
    expect(program, wanted == 0x0201 ? "found" : "impossible", wanted == 0x0201 ? "found" : "impossible",
           wanted == 0x0201 ? "found" : "impossible");
  }
}

// Two threads add one to a counter, after so many steps of their own.
TraceBuilder counters(bool locked, uint64_t wanted) {
  TraceBuilder program(3);
  for (uint32_t t = 1; t < 3; ++t) program.add(0, EventKind::create, t);
  for (uint32_t t = 1; t < 3; ++t) {
    for (unsigned i = 0; i < 30; ++i) program.write(t, kY + 4 * t, i);
    if (locked) program.add(t, EventKind::lock, kM);
    const Expr read = program.read(t, kX);
    program.write(t, kX, program.pool(t).binary(ExprOp::add, read, program.pool(t).constant(1, 32)));
    if (locked) program.add(t, EventKind::unlock, kM);
    program.add(t, EventKind::exit);
  }
  for (uint32_t t = 1; t < 3; ++t) program.add(0, EventKind::join, t);
  const Expr sum = program.read(0, kX);
  program.trace.failure = {.kind = FailurePredicate::Kind::condition, .thread = 0};
  program.trace.failure.condition =
      program.pool(0).binary(ExprOp::eq, sum, program.pool(0).constant(wanted, 32));
  return program;
}

TEST(Ordering, LosesAnUpdateWithOnePreemption) {
  const TraceBuilder program = counters(false, 1);
  const SolveAnswer answer = solve({.trace = &program.trace});
  ASSERT_EQ(answer.verdict, SolveVerdict::found);
  EXPECT_EQ(answer.preemptions, 1U);
  EXPECT_FALSE(answer.fewest);  // it is, but that was not proved
}

TEST(Ordering, NoPreemptionIsTheFewest) {
  const TraceBuilder program = counters(true, 2);
  const SolveAnswer answer = solve({.trace = &program.trace});
  ASSERT_EQ(answer.verdict, SolveVerdict::found);
  EXPECT_EQ(answer.preemptions, 0U);
  EXPECT_TRUE(answer.fewest);
}

TEST(Ordering, LocksExclude) {
  for (const MemoryModel model : kModels) {
    const TraceBuilder program = counters(true, 1);
    EXPECT_EQ(text_of(solve({.trace = &program.trace, .model = model}).verdict), "impossible");
  }
}

TEST(Ordering, SaysUndecidedIfThereAreMorePreemptionsThanAllowed) {
  const TraceBuilder program = counters(false, 1);
  const SolveAnswer answer = solve({.trace = &program.trace}, {.most_preemptions = 0});
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_THAT(answer.why, testing::HasSubstr("preemptions"));
}

TEST(Ordering, Deadlock) {
  for (const bool same_order : {false, true}) {
    TraceBuilder program(2);
    program.add(0, EventKind::lock, kM);
    program.add(1, EventKind::lock, same_order ? kM : kN);
    program.trace.failure.kind = FailurePredicate::Kind::deadlock;
    program.trace.failure.waiting = {{0, {.kind = EventKind::lock, .address = kN}},
                                     {1, {.kind = EventKind::lock, .address = same_order ? kN : kM}}};
    EXPECT_EQ(text_of(solve({.trace = &program.trace}).verdict), same_order ? "impossible" : "found");
  }
}

TEST(Ordering, UseAfterFree) {
  for (const bool used_again : {false, true}) {
    TraceBuilder program(2);
    program.add(0, Event{.kind = EventKind::allocate, .size = 16, .address = 0x5000});
    program.add(0, EventKind::create, 1);
    program.add(0, Event{.kind = EventKind::release, .size = 16, .address = 0x5000});
    if (used_again) {
      program.add(0, Event{.kind = EventKind::allocate, .size = 32, .address = 0x4ff0});
      program.write(0, kX, 1);
    }
    program.add(1, EventKind::start);
    require_value(program, 1, program.read(1, kX), used_again ? 1 : 0);
    program.trace.failure = {.kind = FailurePredicate::Kind::freed, .thread = 1, .address = 0x5008};
    EXPECT_EQ(text_of(solve({.trace = &program.trace}).verdict), used_again ? "impossible" : "found");
  }
}

TEST(Ordering, AnAllocationWaitsForBlocksThatOverlap) {
  TraceBuilder program(2);
  program.add(0, Event{.kind = EventKind::allocate, .size = 8, .address = 0x5008});
  program.trace.failure.kind = FailurePredicate::Kind::deadlock;
  program.trace.failure.waiting = {{1, {.kind = EventKind::allocate, .size = 16, .address = 0x5000}}};
  EXPECT_EQ(solve({.trace = &program.trace}).verdict, SolveVerdict::found);
}

TEST(Ordering, ASignalThatComesTooEarlyWakesNobody) {
  for (const bool lost : {false, true}) {
    TraceBuilder program(2);
    program.add(0, EventKind::lock, kM);
    program.add(0, EventKind::wait_begin, kN, kM);
    program.add(0, EventKind::wait_end, kN, kM);
    program.add(1, EventKind::signal, kN);
    program.write(1, kX, 1);
    must_end(program);
    Problem problem{.trace = &program.trace};
    if (lost) problem.facts.push_back({.before = {1, 0}, .after = {0, 0}});
    EXPECT_EQ(text_of(solve(problem).verdict), lost ? "impossible" : "found");
  }
}

TEST(Ordering, CountsOfSemaphoresAreValues) {
  for (const uint64_t wanted : {0, 1, 2, 3}) {
    TraceBuilder program(3);
    program.add(0, EventKind::semaphore_post, kM);
    program.add(1, EventKind::semaphore_post, kM);
    const uint32_t event = program.add(2, Event{.kind = EventKind::semaphore_value, .size = 4, .address = kM});
    require_value(program, 2, program.pool(2).read(event, 32), wanted);
    must_end(program);
    EXPECT_EQ(text_of(solve({.trace = &program.trace}).verdict), wanted <= 2 ? "found" : "impossible");
  }
}

TEST(Ordering, ClocksAndFactsAreKept) {
  TraceBuilder program(2);
  program.write(0, kX, 1);
  require_value(program, 1, program.read(1, kX), 0);
  must_end(program);
  Problem problem{.trace = &program.trace};
  EXPECT_EQ(solve(problem).verdict, SolveVerdict::found);
  program.trace.threads[0].events[0].tsc_high = 5;
  program.trace.threads[1].events[0].tsc_low = 6;
  EXPECT_EQ(solve(problem).verdict, SolveVerdict::found);
  problem.clocks = true;
  EXPECT_EQ(solve(problem).verdict, SolveVerdict::impossible);
  problem.clocks = false;
  problem.facts.push_back({.before = {0, 0}, .after = {1, 0}});
  EXPECT_EQ(solve(problem).verdict, SolveVerdict::impossible);
}

// Thread 1 reads an index and then that element; thread 0 sets the index to 1.
TEST(Ordering, AddressesThatDependOnReadsAreNotJustWhatWasRecorded) {
  for (const uint64_t recorded : {kX, kX + 4})
    for (const uint64_t wanted : {0, 8, 9}) {
      TraceBuilder program(2);
      program.trace.initial[kX + 4] = 9;
      program.write(0, kY, 1);
      ExprPool& pool = program.pool(1);
      const Expr index = pool.zext(program.read(1, kY), 64);
      const Expr address = pool.binary(ExprOp::add, pool.binary(ExprOp::mul, index, pool.constant(4, 64)),
                                       pool.constant(kX, 64));
      const uint32_t event = program.add(1, Event{.kind = EventKind::read,
                                                  .size = 4,
                                                  .address = recorded,
                                                  .address_expression = address,
                                                  .object = kX,
                                                  .object_size = 8});
      require_value(program, 1, pool.read(event, 32), wanted);
      must_end(program);
      EXPECT_EQ(text_of(solve({.trace = &program.trace}).verdict), wanted == 8 ? "impossible" : "found");
    }
}

// Thread 0 locks and unlocks in one step. Only in the middle of it another thread finds the mutex locked.
TEST(Ordering, ARunMayEndInsideOfAStep) {
  for (const bool waits : {true, false}) {
    TraceBuilder program(2);
    program.write(0, kX, 1);
    program.add(0, EventKind::lock, kM);
    program.add(0, Event{.kind = EventKind::unlock, .address = kM}, true);
    program.write(0, kX, 2);
    require_value(program, 1, program.read(1, kX), waits ? 1 : 2);
    program.trace.failure.kind = FailurePredicate::Kind::deadlock;
    program.trace.failure.waiting = {{1, {.kind = EventKind::lock, .address = kM}}};
    EXPECT_EQ(text_of(solve({.trace = &program.trace}).verdict), waits ? "found" : "impossible");
  }
}

TEST(Ordering, WhatIsUnknownHolds) {
  TraceBuilder program(2);
  program.trace.approximations.push_back({.what = "something unknown"});
  program.write(0, kX, program.pool(0).unknown(0, 32));
  require_value(program, 1, program.read(1, kX), 77);
  must_end(program);
  EXPECT_EQ(solve({.trace = &program.trace}).verdict, SolveVerdict::found);
}

TEST(Ordering, Ladder) {
  const Ladder ladder(120);
  for (const bool clocks : {true, false})
    EXPECT_EQ(text_of(solve(ladder.problem(clocks)).verdict), "found") << clocks;
}

TEST(Ordering, EndsInTime) {
  const Ladder ladder(400);
  const auto now = std::chrono::steady_clock::now();
  const SolveAnswer answer = solve(ladder.problem(false), {.deadline = now});
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_THAT(answer.why, testing::HasSubstr("time"));
  EXPECT_LT(std::chrono::steady_clock::now() - now, std::chrono::seconds(2));
}

}  // namespace
}  // namespace heddle
