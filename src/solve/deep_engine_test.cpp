#include "solve/deep_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "solve/log_shape.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

// Two threads that mix the numbers of a small array: what is read decides where is read and written next.
Trace mixing_trace(uint32_t rounds, uint64_t seed) {
  constexpr uint32_t kThreads = 2, kElements = 16;
  constexpr uint64_t kMemory = 0x1000;
  std::mt19937_64 random(seed);
  TraceBuilder builder(kThreads);
  std::array<uint64_t, kElements> memory{};
  std::array<uint64_t, kThreads> number = {1, 2};
  std::array<Expr, kThreads> known;
  std::array<uint32_t, kThreads> done{};
  for (uint32_t t = 0; t < kThreads; ++t) known[t] = builder.pool(t).constant(number[t], 32);
  uint32_t running = 0;
  while (done[0] < rounds || done[1] < rounds) {
    if (random() % 7 == 0 || done[running] == rounds) running = 1 - running;
    if (done[running] == rounds) continue;
    ExprPool& pool = builder.pool(running);
    const uint64_t place = number[running] % kElements;
    const Expr index = pool.binary(ExprOp::urem, known[running], pool.constant(kElements, 32));
    builder.require(running, pool.binary(ExprOp::eq, index, pool.constant(place, 32)));
    const Expr read = builder.read(running, kMemory + 4 * place, 4);
    number[running] = (number[running] * 31 + memory[place] * 17 + 5) & 0xffffffff;
    known[running] =
        pool.binary(ExprOp::add,
                    pool.binary(ExprOp::add, pool.binary(ExprOp::mul, known[running], pool.constant(31, 32)),
                                pool.binary(ExprOp::mul, read, pool.constant(17, 32))),
                    pool.constant(5, 32));
    memory[place] = number[running];
    builder.write(running, kMemory + 4 * place, known[running]);
    ++done[running];
  }
  for (uint32_t t = 0; t < kThreads; ++t)
    builder.trace.failure.waiting.push_back({t, {.kind = EventKind::once_passed, .address = 0x3000}});
  builder.trace.failure.kind = FailurePredicate::Kind::deadlock;
  return std::move(builder.trace);
}

TEST(DeepEngine, FindsThousandsOfSwitchesThatValuesDecide) {
  const Trace trace = mixing_trace(5'000, 1);
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso}) {
    const Problem problem{.trace = &trace, .model = model};
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const SolveAnswer answer = make_deep_engine()->solve(problem, {.deadline = end});
    ASSERT_EQ(text_of(answer.verdict), "found") << answer.why;
    EXPECT_EQ(evaluate(trace, model, answer.order).kind, Evaluation::Kind::holds);
    EXPECT_GT(answer.switches, 100u);
  }
}

TEST(DeepEngine, KeepsToTheBoundAndToTheTime) {
  const LogShape shape(2, 2);
  EXPECT_EQ(text_of(make_deep_engine()->solve(shape.problem(), {.most_preemptions = 0}).verdict), "undecided");
  const Trace trace = mixing_trace(5'000, 2);
  const SolveAnswer answer =
      make_deep_engine()->solve({.trace = &trace}, {.deadline = std::chrono::steady_clock::now()});
  EXPECT_EQ(text_of(answer.verdict), "undecided");
  EXPECT_NE(answer.why.find("events were in order"), std::string::npos) << answer.why;
}

}  // namespace
}  // namespace heddle
