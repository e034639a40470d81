#include "solve/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_fixture.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kX = 0x1000, kY = 0x1010, kMutex = 0x2000;

TEST(Resources, AccessesThatOverlapAreOne) {
  TraceBuilder builder(2);
  builder.read(0, kX, 2);
  builder.read(0, kX + 1, 2);
  builder.read(0, kX + 3, 1);
  builder.read(1, kX + 2, 1);
  const Resources resources({.trace = &builder.trace});
  EXPECT_EQ(resources.memory_of({0, 0}), resources.memory_of({0, 1}));
  EXPECT_EQ(resources.memory_of({0, 0}), resources.memory_of({1, 0}));
  EXPECT_NE(resources.memory_of({0, 0}), resources.memory_of({0, 2}));
  EXPECT_EQ(resources.readers(resources.memory_of({0, 0})), 2u);
}

TEST(Resources, AnAddressThatDependsOnReadsMayBeAnywhereInItsObject) {
  TraceBuilder builder(1);
  ExprPool& pool = builder.pool(0);
  const Expr index = builder.read(0, 0x5000, 8);
  builder.read(0, kX, 1);
  builder.read(0, kY, 1);
  builder.add(0, {.kind = EventKind::read,
                  .size = 1,
                  .address = kX + 4,
                  .address_expression = pool.binary(ExprOp::add, index, pool.constant(kX, 64)),
                  .object = kX,
                  .object_size = 8});
  const Resources resources({.trace = &builder.trace});
  EXPECT_EQ(resources.memory_of({0, 1}), resources.memory_of({0, 3}));
  EXPECT_NE(resources.memory_of({0, 2}), resources.memory_of({0, 3}));
}

TEST(Resources, BufferedWritesTouchNothingYet) {
  TraceBuilder builder(1);
  builder.write(0, kX, 1);
  builder.write(0, kX, 2, AccessOrder::seq_cst);
  const Resources sc({.trace = &builder.trace}), tso({.trace = &builder.trace, .model = MemoryModel::tso});
  EXPECT_THAT(sc.of({0, 0}), ElementsAre(ResourceUse{0, true}));
  EXPECT_THAT(tso.of({0, 0}), IsEmpty());
  EXPECT_THAT(tso.of({0, 1}), ElementsAre(ResourceUse{0, true}));
}

TEST(Resources, AreWantedAsLongAsOthersWillUseThem) {
  TraceBuilder builder(2);
  builder.write(0, kX, 1);
  builder.read(1, kX);
  builder.write(1, kY, 1);
  builder.read(1, kX);
  const Resources resources({.trace = &builder.trace});
  const uint32_t x = resources.memory_of({0, 0});
  using Positions = std::array<uint32_t, 2>;
  EXPECT_TRUE(resources.is_wanted({x, true}, 0, Positions{0, 2}));
  EXPECT_FALSE(resources.is_wanted({x, true}, 0, Positions{0, 3}));
  EXPECT_FALSE(resources.is_wanted({x, false}, 0, Positions{0, 0}));  // reads do not mind reads
  EXPECT_TRUE(resources.is_wanted({x, false}, 1, Positions{0, 0}));
  EXPECT_FALSE(resources.is_wanted({resources.memory_of({1, 1}), true}, 1, Positions{0, 0}));
  EXPECT_THAT(resources.last_read_by({1, 0}), IsEmpty());
  EXPECT_THAT(resources.last_read_by({1, 2}), ElementsAre(x));
}

TEST(Resources, WhatTheFailureLooksAtIsAlwaysWanted) {
  TraceBuilder builder(1);
  builder.add(0, EventKind::lock, kMutex);
  builder.trace.failure = {.kind = FailurePredicate::Kind::deadlock};
  const Resources without({.trace = &builder.trace});
  builder.trace.failure.waiting.push_back({0, {.kind = EventKind::lock, .address = kMutex}});
  const Resources with({.trace = &builder.trace});
  EXPECT_FALSE(without.is_wanted(without.of({0, 0})[0], 0, std::array{0u}));
  EXPECT_TRUE(with.is_wanted(with.of({0, 0})[0], 0, std::array{0u}));
}

}  // namespace
}  // namespace heddle
