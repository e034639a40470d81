#include "trace/constant_facts.h"
#include "trace/expression_rules.h"

namespace heddle {
namespace {

using llvm::APInt;

Expr add_rule(ExprPool& pool, Expr a, Expr b) {
  if (is_zero(pool, b)) return a;
  const auto plus = [&](Expr x, Expr y) { return pool.binary(ExprOp::add, x, y); };
  if (is_with_constant(pool, a, ExprOp::add)) {
    const Expr x = first(pool, a), c = second(pool, a);
    return pool.is_constant(b) ? plus(x, plus(c, b)) : plus(plus(x, b), c);
  }
  if (is_with_constant(pool, b, ExprOp::add)) {
    const Expr y = first(pool, b), c = second(pool, b);
    return plus(plus(a, y), c);
  }
  if (is(pool, a, ExprOp::sub) && second(pool, a) == b) return first(pool, a);
  if (is(pool, b, ExprOp::sub) && second(pool, b) == a) return first(pool, b);
  return {};
}

Expr sub_rule(ExprPool& pool, Expr a, Expr b) {
  if (a == b) return zeros(pool, pool.width(a));
  if (pool.is_constant(b)) return pool.binary(ExprOp::add, a, constant(pool, -constant_value(pool, b)));
  if (is(pool, a, ExprOp::add)) {
    if (first(pool, a) == b) return second(pool, a);
    if (second(pool, a) == b) return first(pool, a);
  }
  if (is_with_constant(pool, a, ExprOp::add)) {
    const Expr x = first(pool, a), c = second(pool, a);
    return pool.binary(ExprOp::add, pool.binary(ExprOp::sub, x, b), c);
  }
  if (is_with_constant(pool, b, ExprOp::add)) {
    const Expr y = first(pool, b), c = second(pool, b);
    return pool.binary(ExprOp::sub, pool.binary(ExprOp::sub, a, y), c);
  }
  return {};
}

Expr mul_rule(ExprPool& pool, Expr a, Expr b) {
  if (!pool.is_constant(b)) return {};
  if (is_zero(pool, b)) return b;
  if (is_one(pool, b)) return a;
  const auto times = [&](Expr x, Expr y) { return pool.binary(ExprOp::mul, x, y); };
  if (is_with_constant(pool, a, ExprOp::mul)) {
    const Expr x = first(pool, a), c = second(pool, a);
    return times(x, times(c, b));
  }
  if (is_with_constant(pool, a, ExprOp::add)) {  // elements of arrays: (i + 1) * 8
    const Expr x = first(pool, a), c = second(pool, a);
    return pool.binary(ExprOp::add, times(x, b), times(c, b));
  }
  return {};
}

Expr shift(ExprPool& pool, ExprOp op, Expr a, unsigned by) {
  const unsigned width = pool.width(a);
  if (by == 0) return a;
  if (op == ExprOp::ashr) {
    const unsigned from = std::min(by, width - 1);
    return pool.sext(pool.extract(a, from, width - from), width);
  }
  if (by >= width) return zeros(pool, width);
  if (op == ExprOp::lshr) return pool.zext(pool.extract(a, by, width - by), width);
  return pool.concat(pool.extract(a, 0, width - by), zeros(pool, by));
}

Expr shift_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  if (pool.is_constant(b))
    return shift(pool, op, a, static_cast<unsigned>(constant_value(pool, b).getLimitedValue(kMostExprBits)));
  if (is_zero(pool, a) || (op == ExprOp::ashr && is_ones(pool, a))) return a;
  return {};
}

Expr division_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  if (!pool.is_constant(b)) return {};
  const APInt divisor = constant_value(pool, b);
  const bool remainder = op == ExprOp::urem || op == ExprOp::srem;
  if (divisor.isZero() && remainder) return a;
  if (divisor.isZero() && op == ExprOp::udiv) return ones(pool, pool.width(a));
  if (divisor.isOne()) return remainder ? zeros(pool, pool.width(a)) : a;
  if (op == ExprOp::udiv && divisor.isPowerOf2()) return shift(pool, ExprOp::lshr, a, divisor.logBase2());
  if (op == ExprOp::urem && divisor.isPowerOf2())
    return pool.zext(pool.extract(a, 0, divisor.logBase2()), pool.width(a));
  return {};
}

// The operation on the pieces of a concat and on the corresponding bits of what has pieces itself: of constants
// always, of others where a piece is 0.
Expr bitwise_by_pieces(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  if (!is(pool, a, ExprOp::concat)) std::swap(a, b);
  if (!is(pool, a, ExprOp::concat)) return {};
  const auto has_zero = [&](Expr e) {
    return is(pool, e, ExprOp::concat) && (is_zero(pool, first(pool, e)) || is_zero(pool, second(pool, e)));
  };
  if (!pool.is_constant(b) && !(is(pool, b, ExprOp::concat) && (has_zero(a) || has_zero(b)))) return {};
  const Expr high = first(pool, a), low = second(pool, a);
  const unsigned border = pool.width(low);
  return pool.concat(pool.binary(op, high, pool.extract(b, border, pool.width(high))),
                     pool.binary(op, low, pool.extract(b, 0, border)));
}

// x & 0..01..10..0
Expr mask(ExprPool& pool, Expr a, const APInt& bits) {
  unsigned from, length;
  if (!bits.isShiftedMask(from, length)) return {};
  Expr e = pool.extract(a, from, length);
  if (from > 0) e = pool.concat(e, zeros(pool, from));
  return pool.zext(e, pool.width(a));
}

Expr bitwise_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  const bool is_and = op == ExprOp::bit_and, is_xor = op == ExprOp::bit_xor;
  if (a == b) return is_xor ? zeros(pool, pool.width(a)) : a;
  if (!is_xor && are_complements(pool, a, b))
    return is_and ? zeros(pool, pool.width(a)) : ones(pool, pool.width(a));
  if (is_zero(pool, b)) return is_and ? b : a;
  if (!is_xor && is_ones(pool, b)) return is_and ? a : b;
  if (pool.is_constant(b) && is_with_constant(pool, a, op)) {
    const Expr x = first(pool, a), c = second(pool, a);
    return pool.binary(op, x, pool.binary(op, c, b));
  }
  if (const Expr e = bitwise_by_pieces(pool, op, a, b)) return e;
  if (is_and && pool.is_constant(b)) return mask(pool, a, constant_value(pool, b));
  if (is_xor && pool.width(a) == 1 && pool.is_constant(b)) {
    const Expr x = first(pool, a), y = second(pool, a);
    switch (pool.node(a).op) {
      case ExprOp::ult:
        return pool.binary(ExprOp::ule, y, x);
      case ExprOp::ule:
        return pool.binary(ExprOp::ult, y, x);
      case ExprOp::slt:
        return pool.binary(ExprOp::sle, y, x);
      case ExprOp::sle:
        return pool.binary(ExprOp::slt, y, x);
      default:
        return {};
    }
  }
  return {};
}

}  // namespace

Expr simplified_arithmetic(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  switch (op) {
    case ExprOp::add:
      return add_rule(pool, a, b);
    case ExprOp::sub:
      return sub_rule(pool, a, b);
    case ExprOp::mul:
      return mul_rule(pool, a, b);
    case ExprOp::shl:
    case ExprOp::lshr:
    case ExprOp::ashr:
      return shift_rule(pool, op, a, b);
    case ExprOp::bit_and:
    case ExprOp::bit_or:
    case ExprOp::bit_xor:
      return bitwise_rule(pool, op, a, b);
    default:
      return division_rule(pool, op, a, b);
  }
}

}  // namespace heddle
