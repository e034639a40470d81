#include "trace/node_value.h"

#include <gtest/gtest.h>

#include "trace/expression_fixture.h"

namespace heddle {
namespace {

using U128 = unsigned __int128;
using S128 = __int128;

U128 mask(unsigned width) {
  return width == 128 ? ~U128{0} : (U128{1} << width) - 1;
}

S128 as_signed(U128 value, unsigned width) {
  const unsigned shift = 128 - width;
  return static_cast<S128>(value << shift) >> shift;
}

U128 number(const Words& words) {
  return words.size() == 1 ? words[0] : words[0] | U128{words[1]} << 64;
}

// The host's arithmetic; what it does not define, as expression.h says.
U128 expected(ExprOp op, U128 a, U128 b, unsigned width) {
  const S128 x = as_signed(a, width), y = as_signed(b, width);
  const bool overflow = y == -1 && a == U128{1} << (width - 1);
  switch (op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::udiv:
      return b == 0 ? ~U128{0} : a / b;
    case ExprOp::sdiv:
      if (b == 0) return x < 0 ? 1 : ~U128{0};
      return overflow ? a : static_cast<U128>(x / y);
    case ExprOp::urem:
      return b == 0 ? a : a % b;
    case ExprOp::srem:
      if (b == 0) return a;
      return overflow ? 0 : static_cast<U128>(x % y);
    case ExprOp::shl:
      return b >= width ? 0 : a << b;
    case ExprOp::lshr:
      return b >= width ? 0 : a >> b;
    case ExprOp::ashr:
      return static_cast<U128>(x >> (b >= width ? 127 : static_cast<int>(b)));
    case ExprOp::bit_and:
      return a & b;
    case ExprOp::bit_or:
      return a | b;
    case ExprOp::bit_xor:
      return a ^ b;
    case ExprOp::eq:
      return a == b;
    case ExprOp::ult:
      return a < b;
    case ExprOp::ule:
      return a <= b;
    case ExprOp::slt:
      return x < y;
    default:
      return x <= y;
  }
}

U128 evaluated(const ExprNode& node, const Words& a, unsigned width_a, const Words& b, unsigned width_b) {
  Words out(words_of(node.width));
  EXPECT_TRUE(evaluate_node(node, {NodeOperand{a.data(), width_a}, NodeOperand{b.data(), width_b}}, nullptr,
                            out.data()));
  return number(out);
}

TEST(NodeValue, ArithmeticIsTheHosts) {
  ExprPool pool;
  RandomExpressions random(pool, 1);
  for (unsigned round = 0; round < 200'000; ++round) {
    const unsigned width = 1 + static_cast<unsigned>(random.number(128));
    const auto op = static_cast<ExprOp>(static_cast<unsigned>(ExprOp::add) + random.number(18));
    const Words a = random.words(width);
    Words b = random.words(width);
    if (random.number(3) == 0) b = Words(words_of(width), 0), b[0] = random.number(140) & low_bits(width);
    const unsigned result = is_comparison(op) ? 1 : width;
    const ExprNode node{.op = op, .width = static_cast<uint16_t>(result), .a = 1, .b = 2};
    ASSERT_TRUE(evaluated(node, a, width, b, width) ==
                (expected(op, number(a), number(b), width) & mask(result)))
        << "operation " << static_cast<int>(op) << " width " << width << " of " << a[0] << " and " << b[0];
  }
}

TEST(NodeValue, BitsAreMovedAsTheHostDoes) {
  ExprPool pool;
  RandomExpressions random(pool, 2);
  for (unsigned round = 0; round < 50'000; ++round) {
    const unsigned width = 2 + static_cast<unsigned>(random.number(127));
    const unsigned low = 1 + static_cast<unsigned>(random.number(width - 1));
    const Words a = random.words(width - low), b = random.words(low), whole = random.words(width);
    const auto node = [](ExprOp op, unsigned w, uint32_t from = 2) {
      return ExprNode{.op = op, .width = static_cast<uint16_t>(w), .a = 1, .b = from};
    };
    ASSERT_TRUE(evaluated(node(ExprOp::concat, width), a, width - low, b, low) ==
                (number(a) << low | number(b)));
    ASSERT_TRUE(evaluated(node(ExprOp::extract, width - low, low), whole, width, {}, 0) ==
                number(whole) >> low);
    ASSERT_TRUE(evaluated(node(ExprOp::extract, low, 0), whole, width, {}, 0) == (number(whole) & mask(low)));
    ASSERT_TRUE(evaluated(node(ExprOp::sext, width), b, low, {}, 0) ==
                (static_cast<U128>(as_signed(number(b), low)) & mask(width)));
    unsigned set = 0, leading = 0, trailing = 0;
    U128 turned = 0;
    for (unsigned i = 0; i < width; ++i) {
      const bool bit = (number(whole) >> i & 1) != 0;
      set += bit;
      leading = bit ? 0 : leading + 1;
      trailing += set == 0;
      turned |= U128{bit} << (width - 1 - i);
    }
    ASSERT_TRUE(evaluated(node(ExprOp::ctpop, width), whole, width, {}, 0) == (set & mask(width)));
    ASSERT_TRUE(evaluated(node(ExprOp::ctlz, width), whole, width, {}, 0) == (leading & mask(width)));
    ASSERT_TRUE(evaluated(node(ExprOp::cttz, width), whole, width, {}, 0) == (trailing & mask(width)));
    ASSERT_TRUE(evaluated(node(ExprOp::bitreverse, width), whole, width, {}, 0) == turned);
  }
}

TEST(NodeValue, BytesAreSwapped) {
  const ExprNode node{.op = ExprOp::bswap, .width = 48, .a = 1};
  EXPECT_TRUE(evaluated(node, {0x010203040506}, 48, {}, 0) == 0x060504030201);
  const ExprNode wide{.op = ExprOp::bswap, .width = 128, .a = 1};
  EXPECT_TRUE(evaluated(wide, {0x1, 0x2}, 128, {}, 0) == (U128{uint64_t{1} << 56} << 64 | uint64_t{2} << 56));
}

}  // namespace
}  // namespace heddle
