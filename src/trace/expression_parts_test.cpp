#include <gtest/gtest.h>

#include "trace/expression_fixture.h"

namespace heddle {
namespace {

constexpr unsigned kReads[] = {128, 17, 32};

ExprPool random_pool(uint64_t seed) {
  ExprPool pool;
  RandomExpressions maker(pool, seed);
  maker.reads.assign(std::begin(kReads), std::end(kReads));
  maker.make(1 + static_cast<unsigned>(maker.number(128)), 5);
  pool.call("something", 8,
            pool.call("pow", 64, pool.zext(pool.read(2, 32), 64), pool.zext(pool.read(1, 17), 64)));
  pool.unknown(0, 13);
  return pool;
}

// Nothing is asked of the result but that there is one.
void use(const ExprPool& pool) {
  uint32_t reads = 0;
  for (uint32_t i = 1; i < pool.size(); ++i) {
    EXPECT_FALSE(pool.text(Expr{i}).empty());
    if (pool.node(Expr{i}).op == ExprOp::read) reads = std::max(reads, pool.node(Expr{i}).a + 1);
  }
  if (reads > 1000) return;
  ExprValues values(pool, reads);
  const Words ones(words_of(kMostExprBits), ~uint64_t{0});
  for (uint32_t i = 0; i < reads; ++i) values.set_read(i, ones, true);
  for (uint32_t i = 1; i < pool.size(); ++i)
    EXPECT_EQ(values.value(Expr{i}).words.size(), words_of(pool.width(Expr{i})));
}

TEST(ExpressionParts, RoundTrip) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const ExprPool pool = random_pool(seed);
    const Result<ExprPool> again = ExprPool::from_parts(pool.parts());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->parts().nodes, pool.parts().nodes);
    EXPECT_EQ(again->parts().words, pool.parts().words);
    EXPECT_EQ(again->parts().functions, pool.parts().functions);
  }
}

TEST(ExpressionParts, WidthsMustFit) {
  uint64_t tried = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const ExprPool pool = random_pool(seed);
    for (uint32_t i = 1; i < pool.size(); ++i) {
      ExprPool::Parts parts = pool.parts();
      ExprNode& node = parts.nodes[i];
      const bool free = operand_count(node.op) == 0 || node.op == ExprOp::extract || node.op == ExprOp::sext ||
                        node.op == ExprOp::call || node.op == ExprOp::float_to_signed ||
                        node.op == ExprOp::float_to_unsigned;
      if (free) continue;
      node.width = static_cast<uint16_t>(node.width + 16);
      const Result<ExprPool> again = ExprPool::from_parts(std::move(parts));
      ASSERT_FALSE(again);
      EXPECT_NE(again.error().what.find("expression " + std::to_string(i) + " "), std::string::npos)
          << again.error().what;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1'000u);
}

TEST(ExpressionParts, WhatIsAcceptedCanBeUsed) {
  uint64_t accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    ExprPool::Parts parts = random_pool(seed % 300).parts();
    std::mt19937_64 random(seed);
    ExprNode& node = parts.nodes[1 + random() % (parts.nodes.size() - 1)];
    const auto number = static_cast<uint32_t>(random() % 4 == 0 ? random() : random() % 70);
    switch (random() % 8) {
      case 0:
        node.op = static_cast<ExprOp>(random() % (kExprOps + 2));
        break;
      case 1:
        node.format = static_cast<FloatFormat>(random() % 16);
        break;
      case 2:
        node.from = static_cast<FloatFormat>(random() % 16);
        break;
      case 3:
        node.width = static_cast<uint16_t>(number);
        break;
      case 4:
        node.a = number;
        break;
      case 5:
        node.b = number;
        break;
      case 6:
        node.c = number;
        break;
      default:
        if (!parts.words.empty()) parts.words.pop_back();
    }
    const Result<ExprPool> pool = ExprPool::from_parts(std::move(parts));
    if (pool) use(*pool);
    ++(pool ? accepted : refused);
  }
  EXPECT_GT(accepted, 1'000u);
  EXPECT_GT(refused, 1'000u);
}

}  // namespace
}  // namespace heddle
