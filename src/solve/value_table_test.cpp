#include "solve/value_table.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(ValueTable, EqualValuesHaveEqualNumbers) {
  ValueTable table;
  const uint64_t zeros[] = {0, 0}, wide[] = {5, 7}, narrow[] = {5, 0}, five[] = {5};
  EXPECT_NE(table.number(zeros), kUncertainValue);
  EXPECT_EQ(table.number(zeros), table.number({}));
  EXPECT_EQ(table.number(narrow), table.number(five));
  EXPECT_NE(table.number(wide), table.number(five));
  EXPECT_EQ(table.word(table.number(wide), 1), 7U);
  EXPECT_EQ(table.word(table.number(five), 1), 0U);
}

TEST(PoolEvaluator, EvaluatesAgainWithOtherReads) {
  ExprPool pool;
  const Expr a = pool.read(0, 32), b = pool.read(2, 128);
  const Expr sum = pool.binary(ExprOp::add, pool.zext(a, 128), b);
  const Expr chosen = pool.ite(pool.binary(ExprOp::eq, a, pool.constant(1, 32)), pool.unknown(0, 128), sum);
  ValueTable table;
  PoolEvaluator evaluator(pool);
  EXPECT_EQ(evaluator.reads_in(chosen), (std::vector<uint32_t>{0, 2}));
  const auto value = [&](uint64_t low, std::vector<uint64_t> high) {
    return evaluator.value(chosen, table, [&](uint32_t event) {
      return event == 0 ? table.number({&low, 1}) : table.number(high);
    });
  };
  const uint64_t expected[] = {1, 4};
  EXPECT_EQ(value(2, {~uint64_t{0}, 3}), table.number(expected));
  EXPECT_EQ(value(1, {3, 3}), kUncertainValue);  // what is unknown is chosen
  const uint64_t other[] = {8};
  EXPECT_EQ(value(5, {3}), table.number(other));
  EXPECT_EQ(evaluator.value(sum, table, [](uint32_t) { return kUncertainValue; }), kUncertainValue);
}

}  // namespace
}  // namespace heddle
