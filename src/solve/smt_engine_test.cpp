#include "solve/smt_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

using testing::HasSubstr;

constexpr uint64_t kX = 0x1000;

// Reads 1 and then 2 while the other thread writes 1 and 2.
Trace between_writes() {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.write(0, kX, 2);
  for (const uint64_t wanted : {1, 2}) {
    const Expr value = builder.read(1, kX);
    builder.require(1, builder.pool(1).binary(ExprOp::eq, value, builder.pool(1).constant(wanted, 32)));
  }
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 1};
  return builder.trace;
}

TEST(SmtEngine, FindsTheFewestPreemptions) {
  const Trace trace = between_writes();
  const SolveAnswer answer = make_smt_engine()->solve({.trace = &trace}, {});
  EXPECT_EQ(answer.verdict, SolveVerdict::found);
  EXPECT_EQ(answer.preemptions, 2u);
  EXPECT_TRUE(answer.fewest);
}

TEST(SmtEngine, ABoundThatIsTooLowIsNoProof) {
  const Trace trace = between_writes();
  const SolveAnswer answer = make_smt_engine()->solve({.trace = &trace}, {.most_preemptions = 1});
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_THAT(answer.why, HasSubstr("1 preemptions"));
  EXPECT_EQ(make_smt_engine()->solve({.trace = &trace}, {.most_preemptions = 2}).verdict, SolveVerdict::found);
}

TEST(SmtEngine, AddressesThatMayBeAnywhereAreRefused) {
  Trace trace = between_writes();
  ExprPool& pool = trace.threads[1].pool;
  trace.threads[1].events[1].address_expression = pool.zext(pool.read(0, 32), 64);
  const SolveAnswer answer = make_smt_engine()->solve({.trace = &trace}, {});
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_THAT(answer.why, HasSubstr("anywhere"));
  EXPECT_FALSE(smt_lib({.trace = &trace}));
}

TEST(SmtEngine, EndsWhenItIsStopped) {
  // Many writers of one variable, and reads that see them in an order that only trying finds.
  TraceBuilder builder(4);
  for (uint32_t t = 0; t < 4; ++t)
    for (uint64_t i = 0; i < 20; ++i) {
      const Expr read = builder.read(t, kX);
      builder.write(t, kX, builder.pool(t).binary(ExprOp::mul, read, builder.pool(t).constant(2 * i + 3, 32)));
    }
  const Expr last = builder.read(0, kX);
  builder.trace.initial[kX] = 1;
  builder.trace.failure = {
      .kind = FailurePredicate::Kind::condition,
      .condition = builder.pool(0).binary(ExprOp::eq, last, builder.pool(0).constant(0x12345679, 32))};
  SolveLimits limits{.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300)};
  const SolveAnswer answer = make_smt_engine()->solve({.trace = &builder.trace}, limits);
  EXPECT_EQ(answer.verdict, SolveVerdict::undecided);
  EXPECT_EQ(answer.why, "out of time");
}

TEST(SmtEngine, QueriesAreSmtLib) {
  const Trace trace = between_writes();
  const Result<std::string> text = smt_lib({.trace = &trace}, 1);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("(declare-fun |when.1.0#"));
  EXPECT_THAT(*text, HasSubstr("(check-sat)"));
}

}  // namespace
}  // namespace heddle
