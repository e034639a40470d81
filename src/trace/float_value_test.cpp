#include "trace/float_value.h"

#include <gtest/gtest.h>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/ArrayRef.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace heddle {
namespace {

using llvm::APFloat;
using llvm::APInt;
using Words = std::vector<uint64_t>;

const llvm::fltSemantics& semantics(FloatFormat format) {
  switch (format) {
    case FloatFormat::half:
      return APFloat::IEEEhalf();
    case FloatFormat::bfloat:
      return APFloat::BFloat();
    case FloatFormat::single:
      return APFloat::IEEEsingle();
    case FloatFormat::twice:
      return APFloat::IEEEdouble();
    case FloatFormat::x87:
      return APFloat::x87DoubleExtended();
    default:
      return APFloat::IEEEquad();
  }
}

constexpr FloatFormat kFormats[] = {FloatFormat::half,  FloatFormat::bfloat, FloatFormat::single,
                                    FloatFormat::twice, FloatFormat::x87,    FloatFormat::quad};

Words words(const APInt& bits) {
  return Words(bits.getRawData(), bits.getRawData() + bits.getNumWords());
}

// Numbers of all sizes, small integers, ends of ranges, infinities.
APFloat random_number(FloatFormat format, std::mt19937_64& random) {
  const llvm::fltSemantics& s = semantics(format);
  switch (random() % 8) {
    case 0:
      return APFloat::getInf(s, random() % 2 != 0);
    case 1:
      return APFloat::getLargest(s, random() % 2 != 0);
    case 2:
      return APFloat::getZero(s, random() % 2 != 0);
    case 3:
      return APFloat::getSmallest(s, random() % 2 != 0);
    case 4: {
      APFloat f(s);
      f.convertFromAPInt(APInt(64, random() % 64), true, APFloat::rmNearestTiesToEven);
      return f;
    }
    default: {
      // Bits at random, but near 1, so that operands have to do with each other. x87: by way of a valid number.
      APFloat f(s);
      f.convertFromAPInt(APInt(128, {random(), random() >> random() % 64}), true, APFloat::rmNearestTiesToEven);
      return scalbn(f, -static_cast<int>(random() % 140), APFloat::rmNearestTiesToEven);
    }
  }
}

Words evaluated(ExprNode node, const std::vector<APInt>& operands) {
  NodeOperands values;
  for (size_t i = 0; i < operands.size(); ++i)
    values[i] = {.words = operands[i].getRawData(), .width = operands[i].getBitWidth()};
  Words out(words_of(node.width));
  float_value(node, values, out.data());
  return out;
}

ExprNode node(ExprOp op, FloatFormat format, unsigned width, uint32_t b = 0) {
  return {.op = op, .format = format, .width = static_cast<uint16_t>(width), .a = 1, .b = b};
}

TEST(FloatValue, ArithmeticIsExactlyRounded) {
  std::mt19937_64 random(1);
  for (unsigned round = 0; round < 60'000; ++round) {
    const FloatFormat format = kFormats[random() % std::size(kFormats)];
    const APFloat a = random_number(format, random), b = random_number(format, random),
                  c = random_number(format, random);
    for (const ExprOp op :
         {ExprOp::fadd, ExprOp::fsub, ExprOp::fmul, ExprOp::fdiv, ExprOp::frem, ExprOp::fma}) {
      if (op == ExprOp::fma && width_of(format) == 16) continue;  // rounded twice, as compilers do it
      if (op == ExprOp::frem && round % 16 != 0) continue;        // slow in LLVM
      APFloat expected = a;
      if (op == ExprOp::fadd) expected.add(b, APFloat::rmNearestTiesToEven);
      if (op == ExprOp::fsub) expected.subtract(b, APFloat::rmNearestTiesToEven);
      if (op == ExprOp::fmul) expected.multiply(b, APFloat::rmNearestTiesToEven);
      if (op == ExprOp::fdiv) expected.divide(b, APFloat::rmNearestTiesToEven);
      if (op == ExprOp::frem) expected.mod(b);
      if (op == ExprOp::fma) expected.fusedMultiplyAdd(b, c, APFloat::rmNearestTiesToEven);
      std::vector<APInt> operands = {a.bitcastToAPInt(), b.bitcastToAPInt()};
      if (op == ExprOp::fma) operands.push_back(c.bitcastToAPInt());
      const Words result = evaluated(node(op, format, width_of(format)), operands);
      if (expected.isNaN()) {  // which one is another test's matter
        ASSERT_TRUE(APFloat(semantics(format), APInt(width_of(format), result)).isNaN());
        continue;
      }
      ASSERT_EQ(result, words(expected.bitcastToAPInt()))
          << "operation " << static_cast<int>(op) << " format " << static_cast<int>(format);
    }
  }
}

TEST(FloatValue, ComparisonsKnowNans) {
  std::mt19937_64 random(2);
  for (unsigned round = 0; round < 20'000; ++round) {
    const FloatFormat format = kFormats[random() % std::size(kFormats)];
    APFloat a = random_number(format, random), b = random_number(format, random);
    if (random() % 4 == 0) a = APFloat::getNaN(semantics(format));
    if (random() % 4 == 0) b = a;
    const APFloat::cmpResult expected = a.compare(b);
    const std::vector<APInt> operands = {a.bitcastToAPInt(), b.bitcastToAPInt()};
    const auto result = [&](ExprOp op) { return evaluated(node(op, format, 1), operands)[0]; };
    ASSERT_EQ(result(ExprOp::feq), expected == APFloat::cmpEqual);
    ASSERT_EQ(result(ExprOp::flt), expected == APFloat::cmpLessThan);
    ASSERT_EQ(result(ExprOp::fle), expected == APFloat::cmpLessThan || expected == APFloat::cmpEqual);
    ASSERT_EQ(result(ExprOp::funordered), expected == APFloat::cmpUnordered);
  }
}

TEST(FloatValue, RoundingToIntegers) {
  std::mt19937_64 random(3);
  constexpr llvm::RoundingMode kModes[] = {APFloat::rmNearestTiesToEven, APFloat::rmTowardNegative,
                                           APFloat::rmTowardPositive, APFloat::rmTowardZero,
                                           APFloat::rmNearestTiesToAway};
  for (unsigned round = 0; round < 20'000; ++round) {
    const FloatFormat format = kFormats[random() % std::size(kFormats)];
    const APFloat a = random_number(format, random);
    for (uint32_t mode = 0; mode < 5; ++mode) {
      APFloat expected = a;
      expected.roundToIntegral(kModes[mode]);
      ASSERT_EQ(evaluated(node(ExprOp::fround, format, width_of(format), mode), {a.bitcastToAPInt()}),
                words(expected.bitcastToAPInt()));
    }
  }
}

// Right if the number lies between the squares of the middles between the root and its neighbours, which have
// 54 bits.
TEST(FloatValue, SquareRoots) {
  std::mt19937_64 random(4);
  for (unsigned round = 0; round < 10'000; ++round) {
    const double a = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    const APInt bits(64, std::bit_cast<uint64_t>(a));
    const double root =
        std::bit_cast<double>(evaluated(node(ExprOp::fsqrt, FloatFormat::twice, 64), {bits})[0]);
    const auto middle = [&](double towards) { return (__float128{root} + std::nextafter(root, towards)) / 2; };
    ASSERT_TRUE(middle(0) * middle(0) < a && a < middle(HUGE_VAL) * middle(HUGE_VAL));
    const float single = static_cast<float>(a);
    const APInt single_bits(32, std::bit_cast<uint32_t>(single));
    const auto single_root = evaluated(node(ExprOp::fsqrt, FloatFormat::single, 32), {single_bits})[0];
    ASSERT_EQ(std::bit_cast<float>(static_cast<uint32_t>(single_root)),
              static_cast<float>(std::sqrt(double{single})));
  }
  // Others: roots of squares.
  for (const FloatFormat format : kFormats)
    for (uint64_t i = 1; i < 16; ++i) {
      APFloat root(semantics(format)), square(semantics(format));
      root.convertFromAPInt(APInt(64, i), false, APFloat::rmNearestTiesToEven);
      square.convertFromAPInt(APInt(64, i * i), false, APFloat::rmNearestTiesToEven);
      ASSERT_EQ(evaluated(node(ExprOp::fsqrt, format, width_of(format)), {square.bitcastToAPInt()}),
                words(root.bitcastToAPInt()));
    }
}

TEST(FloatValue, NansAreThoseOfTheMachine) {
  const auto operation = [](ExprOp op, double a, double b) {
    return evaluated(node(op, FloatFormat::twice, 64),
                     {APInt(64, std::bit_cast<uint64_t>(a)), APInt(64, std::bit_cast<uint64_t>(b))})[0];
  };
  volatile double zero = 0, infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(operation(ExprOp::fdiv, zero, zero), std::bit_cast<uint64_t>(zero / zero));
  EXPECT_EQ(operation(ExprOp::fsub, infinity, infinity), std::bit_cast<uint64_t>(infinity - infinity));
  const double signalling = std::bit_cast<double>(uint64_t{0x7ff0000000000123});
  EXPECT_EQ(operation(ExprOp::fadd, signalling, 1), 0x7ff8000000000123u);
  EXPECT_EQ(operation(ExprOp::fadd, 1, signalling), 0x7ff8000000000123u);
  volatile long double wide_zero = 0;
  const long double nan = wide_zero / wide_zero;
  Words expected(2);
  std::memcpy(expected.data(), &nan, 10);
  EXPECT_EQ(evaluated(node(ExprOp::fdiv, FloatFormat::x87, 80), {APInt(80, 0), APInt(80, 0)}), expected);
}

ExprNode conversion(ExprOp op, FloatFormat from, FloatFormat to, unsigned width) {
  return {.op = op, .format = to, .from = from, .width = static_cast<uint16_t>(width), .a = 1};
}

template <class F>
F host(const Words& bits) {
  F value = 0;
  std::memcpy(&value, bits.data(), std::is_same_v<F, long double> ? 10 : sizeof value);
  return value;
}

template <class F>
APInt bits_of(F value) {
  Words words(2);
  const unsigned bytes = std::is_same_v<F, long double> ? 10 : sizeof value;
  std::memcpy(words.data(), &value, bytes);
  return APInt(bytes * 8, words);
}

TEST(FloatValue, ConversionsAreTheHosts) {
  std::mt19937_64 random(5);
  const FloatFormat single = FloatFormat::single, twice = FloatFormat::twice, x87 = FloatFormat::x87,
                    none = FloatFormat::none;
  for (unsigned round = 0; round < 20'000; ++round) {
    const uint64_t bits = random() >> random() % 64;
    const auto number = static_cast<int64_t>(random() % 2 != 0 ? bits : -bits);
    const APInt integer(64, bits_of(number).getZExtValue());
    ASSERT_EQ(host<double>(evaluated(conversion(ExprOp::signed_to_float, none, twice, 64), {integer})),
              static_cast<double>(number));
    ASSERT_EQ(host<float>(evaluated(conversion(ExprOp::unsigned_to_float, none, single, 32), {integer})),
              static_cast<float>(static_cast<uint64_t>(number)));
    ASSERT_EQ(host<long double>(evaluated(conversion(ExprOp::signed_to_float, none, x87, 80), {integer})),
              static_cast<long double>(number));
    const double d = std::ldexp(static_cast<double>(number), -static_cast<int>(random() % 70));
    ASSERT_EQ(host<float>(evaluated(conversion(ExprOp::float_to_float, twice, single, 32), {bits_of(d)})),
              static_cast<float>(d));
    ASSERT_EQ(host<long double>(evaluated(conversion(ExprOp::float_to_float, twice, x87, 80), {bits_of(d)})),
              d);
    ASSERT_EQ(evaluated(conversion(ExprOp::float_to_signed, twice, none, 64), {bits_of(d)})[0],
              static_cast<uint64_t>(static_cast<int64_t>(d)));
    if (std::abs(d) < 0x1p31) {
      ASSERT_EQ(evaluated(conversion(ExprOp::float_to_signed, twice, none, 32), {bits_of(d)})[0],
                static_cast<uint32_t>(static_cast<int32_t>(d)));
    }
    if (d >= 0) {
      ASSERT_EQ(evaluated(conversion(ExprOp::float_to_unsigned, twice, none, 64), {bits_of(d)})[0],
                static_cast<uint64_t>(d));
    }
  }
}

// What the machine makes of numbers that do not fit, seen in the instructions and code of clang 19 for x86-64.
TEST(FloatValue, WhatDoesNotFit) {
  const auto converted = [](ExprOp op, double d, unsigned width) {
    return evaluated(conversion(op, FloatFormat::twice, FloatFormat::none, width), {bits_of(d)})[0];
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double d : {1e30, -1e30, nan}) {
    EXPECT_EQ(converted(ExprOp::float_to_signed, d, 64), uint64_t{1} << 63);
    EXPECT_EQ(converted(ExprOp::float_to_signed, d, 32), uint64_t{1} << 31);
    EXPECT_EQ(converted(ExprOp::float_to_signed, d, 16), 0u);
    EXPECT_EQ(converted(ExprOp::float_to_unsigned, d, 64), uint64_t{1} << 63);
    EXPECT_EQ(converted(ExprOp::float_to_unsigned, d, 32), 0u);
  }
  EXPECT_EQ(converted(ExprOp::float_to_signed, 70'000, 16), 70'000u - 65'536u);
  EXPECT_EQ(converted(ExprOp::float_to_signed, 5'000'000'001, 16), 0u);  // by way of 32 bits
  EXPECT_EQ(converted(ExprOp::float_to_unsigned, 5'000'000'001, 16), 0u);
  EXPECT_EQ(converted(ExprOp::float_to_unsigned, 5'000'000'001, 32), 5'000'000'001 & 0xffffffff);
  EXPECT_EQ(converted(ExprOp::float_to_unsigned, -1, 32), 0xffffffffu);
  EXPECT_EQ(converted(ExprOp::float_to_unsigned, -1, 64), ~uint64_t{0});
}

}  // namespace
}  // namespace heddle
