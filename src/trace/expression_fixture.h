// Random expressions, built alike in two pools, and their values by ExprValues.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "trace/expression_values.h"
#include "trace/expressions.h"

namespace heddle {

using Words = std::vector<uint64_t>;

// Expressions over `reads` reads with the given widths. The same seed gives the same calls, whatever the pool
// makes of them.
class RandomExpressions {
 public:
  RandomExpressions(ExprPool& pool, uint64_t seed) : pool_(pool), random_(seed) {}

  std::vector<unsigned> reads;  // widths

  Expr make(unsigned width, unsigned depth) {
    if (depth == 0 || number(8) == 0) return leaf(width);
    switch (number(width == 1 ? 16 : 13)) {
      case 0:
        return pool_.ite(make(1, depth - 1), make(width, depth - 1), make(width, depth - 1));
      case 1:
        return concat(width, depth);
      case 2:
      case 3:
        return extract(width, depth);
      case 4: {
        const unsigned from = 1 + number(width);
        return number(2) == 0 ? pool_.zext(make(from, depth - 1), width)
                              : pool_.sext(make(from, depth - 1), width);
      }
      case 5:
        return unary(width, depth);
      case 6:
        return bytes(width, depth);
      case 7:
        return floating(width, depth);
      case 8:  // by a constant
        return pool_.binary(arithmetic(), make(width, depth - 1), small_constant(width));
      case 13:
      case 14:
        return comparison(depth);
      case 15:
        return pool_.logical_not(make(1, depth - 1));
      default: {
        const ExprOp op = arithmetic();
        const Expr a = make(width, depth - 1);
        return pool_.binary(op, a, number(6) == 0 ? a : make(width, depth - 1));
      }
    }
  }

  uint64_t number(uint64_t below) { return random_() % below; }

  Words words(unsigned width) {  // with many bits alike, now and then
    Words out(words_of(width));
    const uint64_t kind = number(4);
    for (uint64_t& word : out) word = kind == 0 ? 0 : kind == 1 ? ~uint64_t{0} : random_();
    if (kind < 2) out[0] += number(3) - 1;
    out.back() &= low_bits((width - 1) % 64 + 1);
    return out;
  }

 private:
  Expr leaf(unsigned width) {
    if (number(3) == 0) return small_constant(width);
    if (number(6) == 0) return pool_.constant(words(width), width);
    // A read, made as wide as is asked for.
    const uint32_t event = static_cast<uint32_t>(number(reads.size()));
    const Expr e = pool_.read(event, reads[event]);
    if (reads[event] == width) return e;
    if (reads[event] > width)
      return pool_.extract(e, static_cast<unsigned>(number(reads[event] - width + 1)), width);
    return number(2) == 0 ? pool_.zext(e, width) : pool_.sext(e, width);
  }

  Expr small_constant(unsigned width) {
    const uint64_t choice = number(5);
    if (choice == 0) return pool_.constant(Words(words_of(width), ~uint64_t{0}), width);
    if (choice == 1)
      return pool_.constant(Words(words_of(width), low_bits(static_cast<unsigned>(number(64)))), width);
    return pool_.constant(number(choice == 2 ? 2 : 70), width);
  }

  ExprOp arithmetic() {
    return static_cast<ExprOp>(
        static_cast<unsigned>(ExprOp::add) +
        number(static_cast<unsigned>(ExprOp::bit_xor) - static_cast<unsigned>(ExprOp::add) + 1));
  }

  Expr comparison(unsigned depth) {
    const auto op = static_cast<ExprOp>(static_cast<unsigned>(ExprOp::eq) + number(5));
    const unsigned width = 1 + static_cast<unsigned>(number(number(3) == 0 ? 128 : 16));
    const Expr a = make(width, depth - 1);
    const Expr b = number(2) == 0 ? small_constant(width) : make(width, depth - 1);
    return number(3) == 0 ? pool_.binary(op, b, a) : pool_.binary(op, a, b);
  }

  Expr concat(unsigned width, unsigned depth) {
    if (width == 1) return leaf(width);
    const unsigned low = 1 + static_cast<unsigned>(number(width - 1));
    const Expr high = make(width - low, depth - 1);
    return pool_.concat(high, make(low, depth - 1));
  }

  Expr extract(unsigned width, unsigned depth) {
    const unsigned more = static_cast<unsigned>(number(129 - width));
    return pool_.extract(make(width + more, depth - 1), static_cast<unsigned>(number(more + 1)), width);
  }

  Expr unary(unsigned width, unsigned depth) {
    auto op = static_cast<ExprOp>(static_cast<unsigned>(ExprOp::ctpop) + number(5));
    if (op == ExprOp::bswap && width % 16 != 0) op = ExprOp::bitreverse;
    return pool_.unary(op, make(width, depth - 1));
  }

  // Taken to pieces and put together again, some of it in another way.
  Expr bytes(unsigned width, unsigned depth) {
    const Expr whole = make(width, depth - 1);
    Expr out = pool_.extract(whole, 0, 1 + static_cast<unsigned>(number(width)));
    while (pool_.width(out) < width) {
      const unsigned from = pool_.width(out), length = 1 + static_cast<unsigned>(number(width - from));
      out = pool_.concat(number(12) == 0 ? make(length, depth - 1) : pool_.extract(whole, from, length), out);
    }
    return out;
  }

  Expr floating(unsigned width, unsigned depth) {
    const auto format = static_cast<FloatFormat>(1 + number(kFloatFormats - 1));
    const unsigned size = width_of(format);
    const auto operand = [&] {
      return number(2) == 0
                 ? make(size, depth - 1)
                 : pool_.convert(ExprOp::signed_to_float, FloatFormat::none, format, make(16, depth - 1));
    };
    const auto op = static_cast<ExprOp>(static_cast<unsigned>(ExprOp::fadd) + number(7));
    const Expr a = operand(), b = operand(), c = operand();
    Expr result;
    switch (number(3)) {
      case 0:
        result = pool_.round(format, a, static_cast<FloatRounding>(number(5)));
        break;
      case 1: {
        const auto other = static_cast<FloatFormat>(1 + number(kFloatFormats - 1));
        result = pool_.convert(ExprOp::float_to_float, format, other, a);
        break;
      }
      default:
        result =
            pool_.floating(op, format, a, op == ExprOp::fsqrt ? Expr{} : b, op == ExprOp::fma ? c : Expr{});
    }
    if (width == 1)
      return pool_.floating(static_cast<ExprOp>(static_cast<unsigned>(ExprOp::feq) + number(4)), format, a, b);
    const unsigned have = pool_.width(result);
    return have >= width ? pool_.extract(result, have - width, width) : pool_.sext(result, width);
  }

  ExprPool& pool_;
  std::mt19937_64 random_;
};

}  // namespace heddle
