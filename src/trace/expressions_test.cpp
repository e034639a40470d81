#include "trace/expressions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "trace/expression_fixture.h"

namespace heddle {
namespace {

class Expressions : public testing::Test {
 protected:
  Expr c(uint64_t bits, unsigned width = 32) { return pool.constant(bits, width); }
  Expr op(ExprOp o, Expr a, Expr b) { return pool.binary(o, a, b); }
  Expr byte(Expr e, unsigned i) { return pool.extract(e, i * 8, 8); }
  // As memory gives it back: byte by byte, from the lowest or from the highest.
  Expr upwards(Expr e) {
    Expr out = byte(e, 0);
    for (unsigned i = 1; i < pool.width(e) / 8; ++i) out = pool.concat(byte(e, i), out);
    return out;
  }
  Expr downwards(Expr e) {
    Expr out = byte(e, pool.width(e) / 8 - 1);
    for (unsigned i = pool.width(e) / 8 - 1; i > 0; --i) out = pool.concat(out, byte(e, i - 1));
    return out;
  }

  ExprPool pool;
  Expr x = pool.read(0, 32), y = pool.read(1, 32), small = pool.read(2, 8), bit = pool.extract(x, 0, 1);
};

TEST_F(Expressions, EqualOnesHaveEqualNumbers) {
  EXPECT_EQ(op(ExprOp::add, x, y), op(ExprOp::add, y, x));
  EXPECT_NE(op(ExprOp::sub, x, y), op(ExprOp::sub, y, x));
  const uint32_t size = pool.size();
  EXPECT_EQ(pool.read(0, 32), x);
  EXPECT_EQ(pool.constant(Words{1, 2}, 128), pool.constant(Words{1, 2}, 128));
  EXPECT_EQ(pool.size(), size + 1);
  EXPECT_NE(pool.unknown(0, 8), pool.unknown(0, 8));
}

TEST_F(Expressions, ConstantsAreFolded) {
  EXPECT_EQ(op(ExprOp::add, c(3), c(4)), c(7));
  EXPECT_EQ(op(ExprOp::sdiv, c(0x80, 8), c(0xff, 8)), c(0x80, 8));
  EXPECT_EQ(op(ExprOp::sdiv, c(0x85, 8), c(0, 8)), c(1, 8));
  EXPECT_EQ(op(ExprOp::sdiv, c(5, 8), c(0, 8)), c(0xff, 8));
  EXPECT_EQ(op(ExprOp::srem, c(0x85, 8), c(0, 8)), c(0x85, 8));
  EXPECT_EQ(op(ExprOp::slt, pool.constant(Words{0, 1}, 65), c(0, 65)), c(1, 1));
  EXPECT_EQ(pool.unary(ExprOp::ctlz, c(0, 17)), c(17, 17));
  EXPECT_EQ(pool.constant_words(op(ExprOp::mul, pool.constant(Words{~0ull, 0}, 128), c(16, 128))),
            (Words{~0ull << 4, 15}));
}

TEST_F(Expressions, SumsCollectTheirConstants) {
  EXPECT_EQ(op(ExprOp::add, op(ExprOp::add, x, c(3)), c(4)), op(ExprOp::add, x, c(7)));
  EXPECT_EQ(op(ExprOp::sub, op(ExprOp::add, x, c(3)), c(3)), x);
  EXPECT_EQ(op(ExprOp::add, op(ExprOp::add, x, c(3)), y), op(ExprOp::add, x, op(ExprOp::add, c(3), y)));
  EXPECT_EQ(op(ExprOp::sub, op(ExprOp::add, x, c(9)), op(ExprOp::add, x, c(4))), c(5));
  EXPECT_EQ(op(ExprOp::sub, op(ExprOp::add, x, y), x), y);
  EXPECT_EQ(op(ExprOp::mul, op(ExprOp::add, x, c(2)), c(8)), op(ExprOp::add, op(ExprOp::mul, x, c(8)), c(16)));
}

TEST_F(Expressions, TrivialOperationsVanish) {
  EXPECT_EQ(op(ExprOp::add, x, c(0)), x);
  EXPECT_EQ(op(ExprOp::sub, x, x), c(0));
  EXPECT_EQ(op(ExprOp::bit_xor, x, x), c(0));
  EXPECT_EQ(op(ExprOp::bit_and, c(0), x), c(0));
  EXPECT_EQ(op(ExprOp::bit_and, x, c(~0u)), x);
  EXPECT_EQ(op(ExprOp::bit_or, x, c(~0u)), c(~0u));
  EXPECT_EQ(op(ExprOp::mul, x, c(0)), c(0));
  EXPECT_EQ(op(ExprOp::mul, c(1), x), x);
  EXPECT_EQ(op(ExprOp::udiv, x, c(1)), x);
  EXPECT_EQ(op(ExprOp::shl, x, c(32)), c(0));
  EXPECT_EQ(pool.logical_not(pool.logical_not(bit)), bit);
  EXPECT_EQ(op(ExprOp::bit_and, bit, pool.logical_not(bit)), c(0, 1));
  EXPECT_EQ(pool.unary(ExprOp::bswap, pool.unary(ExprOp::bswap, x)), x);
}

TEST_F(Expressions, BytesPutTogetherAgainAreTheOriginal) {
  const Expr wide = pool.read(3, 128);
  const Expr originals[] = {
      x,
      wide,
      op(ExprOp::add, x, y),
      pool.zext(small, 64),
      pool.sext(small, 64),
      pool.sext(bit, 32),
      pool.zext(bit, 8),
      pool.zext(pool.extract(x, 3, 13), 32),
      pool.sext(pool.extract(x, 3, 13), 32),
      pool.concat(x, y),
      pool.concat(pool.concat(c(1, 8), small), op(ExprOp::mul, x, y)),
      pool.concat(c(0x00000100, 24), small),
      pool.concat(c(0x0001, 16), pool.concat(small, c(0x02, 8))),
      pool.ite(bit, x, y),
      pool.ite(bit, c(0x100), c(0x200)),
      op(ExprOp::shl, x, c(5)),
      op(ExprOp::lshr, x, c(5)),
      op(ExprOp::ashr, x, c(13)),
      op(ExprOp::bit_and, x, c(0xff0)),
      op(ExprOp::bit_or, x, c(0xff0)),
      pool.sext(op(ExprOp::add, x, y), 64),
      c(0x12345678),
  };
  for (const Expr e : originals) {
    EXPECT_EQ(upwards(e), e) << pool.text(e) << "\n" << pool.text(upwards(e));
    EXPECT_EQ(downwards(e), e) << pool.text(e) << "\n" << pool.text(downwards(e));
  }
}

TEST_F(Expressions, BytesPutTogetherByHandAreTheOriginal) {
  Expr out = pool.zext(byte(x, 0), 32);
  for (unsigned i = 1; i < 4; ++i)
    out = op(ExprOp::bit_or, out, op(ExprOp::shl, pool.zext(byte(x, i), 32), c(8 * i)));
  EXPECT_EQ(out, x);
  out = op(ExprOp::bit_and, x, c(0xff));
  for (unsigned i = 1; i < 4; ++i)
    out = op(ExprOp::bit_or, out,
             op(ExprOp::shl, op(ExprOp::bit_and, op(ExprOp::lshr, x, c(8 * i)), c(0xff)), c(8 * i)));
  EXPECT_EQ(out, x);
}

TEST_F(Expressions, ExtractsLookThrough) {
  EXPECT_EQ(pool.extract(pool.concat(x, y), 32, 32), x);
  EXPECT_EQ(pool.extract(pool.zext(small, 32), 8, 8), c(0, 8));
  EXPECT_EQ(pool.extract(pool.zext(small, 32), 0, 8), small);
  EXPECT_EQ(pool.extract(pool.extract(x, 8, 16), 8, 8), byte(x, 2));
  EXPECT_EQ(pool.zext(pool.zext(small, 16), 32), pool.zext(small, 32));
  EXPECT_EQ(op(ExprOp::bit_and, op(ExprOp::lshr, x, c(3)), c(1)), pool.zext(pool.extract(x, 3, 1), 32));
}

TEST_F(Expressions, ChoicesAreSimplified) {
  EXPECT_EQ(pool.ite(bit, x, x), x);
  EXPECT_EQ(pool.ite(c(1, 1), x, y), x);
  EXPECT_EQ(pool.ite(pool.logical_not(bit), x, y), pool.ite(bit, y, x));
  EXPECT_EQ(op(ExprOp::eq, pool.ite(bit, c(3), c(4)), c(3)), bit);
  EXPECT_EQ(op(ExprOp::eq, c(4), pool.ite(bit, c(3), c(4))), pool.logical_not(bit));
  EXPECT_EQ(op(ExprOp::eq, pool.ite(bit, c(3), c(4)), c(5)), c(0, 1));
  EXPECT_EQ(op(ExprOp::ult, pool.ite(bit, c(3), c(4)), c(5)), c(1, 1));
  EXPECT_EQ(op(ExprOp::eq, pool.ite(bit, c(1), c(0)), c(0)), pool.logical_not(bit));
}

TEST_F(Expressions, ComparisonsAreSimplified) {
  const Expr wider = pool.zext(small, 32);
  EXPECT_EQ(op(ExprOp::eq, wider, c(7)), op(ExprOp::eq, small, c(7, 8)));
  EXPECT_EQ(op(ExprOp::eq, wider, c(0x107)), c(0, 1));
  EXPECT_EQ(op(ExprOp::ult, wider, c(0x100)), c(1, 1));
  EXPECT_EQ(op(ExprOp::slt, wider, c(0x80)), op(ExprOp::ult, small, c(0x80, 8)));
  EXPECT_EQ(op(ExprOp::slt, wider, c(-1)), c(0, 1));
  EXPECT_EQ(op(ExprOp::slt, pool.sext(small, 32), c(5)), op(ExprOp::slt, small, c(5, 8)));
  EXPECT_EQ(op(ExprOp::slt, pool.sext(small, 32), c(500)), c(1, 1));
  EXPECT_EQ(op(ExprOp::slt, c(500), pool.sext(small, 32)), c(0, 1));
  EXPECT_EQ(op(ExprOp::eq, op(ExprOp::add, x, c(3)), c(10)), op(ExprOp::eq, x, c(7)));
  EXPECT_EQ(op(ExprOp::eq, op(ExprOp::sub, x, y), c(0)), op(ExprOp::eq, x, y));
  EXPECT_EQ(op(ExprOp::ule, x, c(4)), op(ExprOp::ult, x, c(5)));
  EXPECT_EQ(pool.logical_not(op(ExprOp::slt, x, y)), op(ExprOp::sle, y, x));
}

TEST_F(Expressions, CallsOfKnownFunctionsAreFolded) {
  const uint64_t two = std::bit_cast<uint64_t>(2.0), half = std::bit_cast<uint64_t>(0.5);
  EXPECT_EQ(pool.call("pow", 64, c(two, 64), c(half, 64)), c(std::bit_cast<uint64_t>(std::pow(2.0, 0.5)), 64));
  EXPECT_EQ(pool.call("sinf", 32, c(std::bit_cast<uint32_t>(2.0f))),
            c(std::bit_cast<uint32_t>(std::sin(2.0f))));
  EXPECT_FALSE(pool.is_constant(pool.call("rand_like", 64, c(1, 64))));
  EXPECT_FALSE(pool.is_constant(pool.call("sin", 32, c(1))));  // not the function of the library
}

TEST_F(Expressions, TextIsForPeople) {
  EXPECT_EQ(pool.text(op(ExprOp::add, x, c(1))), "(read 0) + 1");
  EXPECT_EQ(pool.text(op(ExprOp::add, x, c(-1))), "(read 0) - 1");
  EXPECT_EQ(pool.text(op(ExprOp::ult, op(ExprOp::mul, x, y), c(10))), "((read 0) * (read 1)) < 10");
  EXPECT_EQ(pool.text(pool.zext(byte(x, 1), 32)), "zext32(bits8..15(read 0))");
  EXPECT_EQ(pool.text(pool.logical_not(bit)), "!bits0..0(read 0)");
  EXPECT_EQ(pool.text(pool.ite(bit, x, y)), "bits0..0(read 0) ? (read 0) : (read 1)");
  Expr deep = x;
  for (unsigned i = 0; i < 100'000; ++i) deep = op(ExprOp::mul, op(ExprOp::add, deep, y), deep);
  EXPECT_EQ(pool.text(deep, 20).size(), 23u);
}

// Loops make expressions as deep as they run long.
TEST_F(Expressions, DeepOnesAreFast) {
  Expr sum = pool.read(4, 32), other = pool.read(5, 32), hash = x;
  for (uint32_t i = 0; i < 300'000; ++i) {
    const Expr v = pool.read(10 + i, 32);
    sum = op(ExprOp::add, sum, v);
    other = op(ExprOp::add, other, v);
    hash = op(ExprOp::add, op(ExprOp::bit_xor, hash, c(i + 1)), c(77));
    EXPECT_FALSE(pool.is_constant(op(ExprOp::eq, sum, other)));
    EXPECT_FALSE(pool.is_constant(op(ExprOp::eq, hash, c(5))));
    EXPECT_FALSE(pool.is_constant(op(ExprOp::ult, hash, sum)));
  }
  ExprValues values(pool, 400'000);
  const uint64_t one = 1;
  for (uint32_t i = 0; i < 310'000; ++i) values.set_read(i, std::span(&one, 1), true);
  EXPECT_EQ(values.value(sum).bits(), 300'001u);
}

// The same calls in a pool that simplifies and in one that does not give the same values.
TEST(ExpressionsAtRandom, SimplificationKeepsValues) {
  uint64_t changed = 0;
  for (uint64_t seed = 0; seed < 30'000; ++seed) {
    ExprPool pools[2] = {ExprPool(ExprPool::Simplify::yes), ExprPool(ExprPool::Simplify::no)};
    std::mt19937_64 random(seed);
    std::vector<unsigned> reads;
    for (unsigned i = 0; i < 3; ++i) reads.push_back(1 + static_cast<unsigned>(random() % (i == 0 ? 128 : 32)));
    const unsigned width = 1 + static_cast<unsigned>(random() % 128),
                   depth = 1 + static_cast<unsigned>(random() % 5);
    Expr made[2];
    for (unsigned i = 0; i < 2; ++i) {
      RandomExpressions maker(pools[i], seed);
      maker.reads = reads;
      made[i] = maker.make(width, depth);
      ASSERT_EQ(pools[i].width(made[i]), width);
    }
    changed += pools[0].text(made[0]) != pools[1].text(made[1]);
    RandomExpressions inputs(pools[1], ~seed);
    for (unsigned round = 0; round < 8; ++round) {
      Words results[2];
      std::vector<Words> values;
      for (const unsigned w : reads) values.push_back(inputs.words(w));
      for (unsigned i = 0; i < 2; ++i) {
        ExprValues evaluator(pools[i], reads.size());
        for (uint32_t event = 0; event < reads.size(); ++event) evaluator.set_read(event, values[event], true);
        const ExprValues::Value value = evaluator.value(made[i]);
        ASSERT_TRUE(value.certain);
        results[i].assign(value.words.begin(), value.words.end());
      }
      ASSERT_EQ(results[0], results[1]) << "seed " << seed << ": " << pools[1].text(made[1], 2000)
                                        << "\nbecame " << pools[0].text(made[0], 2000);
    }
  }
  EXPECT_GT(changed, 10'000u);  // else this shows nothing
}

TEST(ExpressionsAtRandom, BytesPutTogetherAgainAreTheOriginal) {
  for (uint64_t seed = 0; seed < 30'000; ++seed) {
    ExprPool pool;
    RandomExpressions maker(pool, seed);
    maker.reads = {64, 8, 1, 13};
    const unsigned bytes = 1 + static_cast<unsigned>(maker.number(16));
    const Expr whole = maker.make(bytes * 8, 4);
    Expr up = pool.extract(whole, 0, 8), down = pool.extract(whole, bytes * 8 - 8, 8);
    for (unsigned i = 1; i < bytes; ++i) {
      up = pool.concat(pool.extract(whole, i * 8, 8), up);
      down = pool.concat(down, pool.extract(whole, (bytes - 1 - i) * 8, 8));
    }
    ASSERT_EQ(up, whole) << "seed " << seed << ": " << pool.text(whole) << "\n" << pool.text(up);
    ASSERT_EQ(down, whole) << "seed " << seed << ": " << pool.text(whole) << "\n" << pool.text(down);
  }
}

TEST(ExpressionValues, UnknownsMakeUncertain) {
  ExprPool pool;
  const Expr x = pool.read(0, 8), unknown = pool.unknown(0, 8), condition = pool.extract(x, 0, 1);
  const Expr choice = pool.ite(condition, unknown, x), sum = pool.binary(ExprOp::add, x, unknown);
  const Expr call = pool.call("something", 8, x);
  for (const uint64_t value : {2, 3}) {
    ExprValues values(pool, 1);
    values.set_read(0, std::span(&value, 1), true);
    EXPECT_EQ(values.value(choice).certain, value == 2);
    EXPECT_FALSE(values.value(sum).certain);
    EXPECT_EQ(values.value(sum).bits(), value);
    EXPECT_FALSE(values.value(call).certain);
    EXPECT_EQ(values.value(call).bits(), 0u);
  }
}

}  // namespace
}  // namespace heddle
