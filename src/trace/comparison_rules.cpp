#include "trace/constant_facts.h"
#include "trace/expression_rules.h"

namespace heddle {
namespace {

using llvm::APInt;

bool is_signed(ExprOp op) {
  return op == ExprOp::slt || op == ExprOp::sle;
}

bool or_equal(ExprOp op) {
  return op == ExprOp::eq || op == ExprOp::ule || op == ExprOp::sle;
}

Expr bit(ExprPool& pool, bool value) {
  return pool.constant(value, 1);
}

// Only one value, or all but one, are on one side of the constant.
Expr end_of_range(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  const unsigned width = pool.width(a);
  const APInt least = is_signed(op) ? APInt::getSignedMinValue(width) : APInt::getZero(width);
  const APInt most = is_signed(op) ? APInt::getSignedMaxValue(width) : APInt::getAllOnes(width);
  const bool with_equal = or_equal(op);
  const ExprOp strict = is_signed(op) ? ExprOp::slt : ExprOp::ult;
  if (pool.is_constant(b)) {
    const APInt c = constant_value(pool, b);
    if (with_equal) return c == most ? bit(pool, true) : pool.binary(strict, a, constant(pool, c + 1));
    if (c == least) return bit(pool, false);
    if (c == least + 1) return pool.binary(ExprOp::eq, a, constant(pool, least));
    return {};
  }
  const APInt c = constant_value(pool, a);
  if (with_equal) return c == least ? bit(pool, true) : pool.binary(strict, constant(pool, c - 1), b);
  if (c == most) return bit(pool, false);
  if (c == most - 1) return pool.binary(ExprOp::eq, b, constant(pool, most));
  return {};
}

// ite(c, C1, C2) compared with a constant, on either side.
Expr choice_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  const bool left = is_choice_of_constants(pool, a);
  const Expr choice = left ? a : b, other = left ? b : a;
  if (!is_choice_of_constants(pool, choice) || !pool.is_constant(other)) return {};
  const Expr c = first(pool, choice), one = second(pool, choice), two = third(pool, choice);
  const auto compare = [&](Expr e) { return left ? pool.binary(op, e, other) : pool.binary(op, other, e); };
  const Expr yes = compare(one), no = compare(two);
  return pool.ite(c, yes, no);
}

// Both begin with constants: these decide, or the rest does.
Expr prefix_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  const bool left = is(pool, a, ExprOp::concat);
  const Expr list = left ? a : b, other = left ? b : a;
  if (!is(pool, list, ExprOp::concat) || !pool.is_constant(first(pool, list))) return {};
  const Expr low = second(pool, list);
  const unsigned border = pool.width(low);
  const bool begins_with_constant =
      pool.is_constant(other) || (is(pool, other, ExprOp::concat) && pool.is_constant(first(pool, other)) &&
                                  pool.width(second(pool, other)) <= border);
  if (!begins_with_constant) return {};
  const unsigned length = pool.width(list) - border;
  const Expr high_a = pool.extract(a, border, length), high_b = pool.extract(b, border, length);
  const Expr low_a = pool.extract(a, 0, border), low_b = pool.extract(b, 0, border);
  if (high_a != high_b) return pool.binary(op, high_a, high_b);
  const ExprOp unsigned_op = op == ExprOp::slt ? ExprOp::ult : op == ExprOp::sle ? ExprOp::ule : op;
  return pool.binary(unsigned_op, low_a, low_b);
}

// Sign extension keeps both orders.
Expr sext_rule(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  if (is(pool, a, ExprOp::sext) && is(pool, b, ExprOp::sext) &&
      pool.width(first(pool, a)) == pool.width(first(pool, b)))
    return pool.binary(op, first(pool, a), first(pool, b));
  const bool left = is(pool, a, ExprOp::sext);
  const Expr extended = left ? a : b, other = left ? b : a;
  if (!is(pool, extended, ExprOp::sext) || !pool.is_constant(other)) return {};
  const Expr inner = first(pool, extended);
  const APInt c = constant_value(pool, other);
  if (c.isSignedIntN(pool.width(inner))) {
    const Expr smaller = constant(pool, c.trunc(pool.width(inner)));
    return left ? pool.binary(op, inner, smaller) : pool.binary(op, smaller, inner);
  }
  if (op == ExprOp::eq) return bit(pool, false);
  if (is_signed(op)) return bit(pool, left != c.isNegative());  // too large or too small for all values
  return {};
}

Expr eq_with_constant(ExprPool& pool, Expr a, Expr b) {
  if (pool.width(a) == 1) return is_zero(pool, b) ? pool.logical_not(a) : a;
  const auto eq = [&](Expr x, Expr y) { return pool.binary(ExprOp::eq, x, y); };
  const Expr x = first(pool, a), y = second(pool, a);
  if (is_with_constant(pool, a, ExprOp::add)) return eq(x, pool.binary(ExprOp::sub, b, y));
  if (is(pool, a, ExprOp::sub) && is_zero(pool, b)) return eq(x, y);
  if (is(pool, a, ExprOp::concat) && pool.is_constant(y)) {
    const unsigned border = pool.width(y);
    const Expr high = pool.extract(b, border, pool.width(x)), low = pool.extract(b, 0, border);
    return low == y ? eq(x, high) : bit(pool, false);
  }
  return {};
}

Expr eq_rule(ExprPool& pool, Expr a, Expr b) {
  if (pool.is_constant(b)) return eq_with_constant(pool, a, b);
  const auto eq = [&](Expr x, Expr y) { return pool.binary(ExprOp::eq, x, y); };
  if (is(pool, b, ExprOp::add) && first(pool, b) == a) return eq(second(pool, b), zeros(pool, pool.width(a)));
  if (is(pool, a, ExprOp::add) && first(pool, a) == b) return eq(second(pool, a), zeros(pool, pool.width(a)));
  // Of constants only: to look for other equal terms would be to go down sums as long as a loop ran.
  if (is_with_constant(pool, a, ExprOp::add) && is_with_constant(pool, b, ExprOp::add)) {
    if (first(pool, a) == first(pool, b)) return bit(pool, false);
    if (second(pool, a) == second(pool, b)) return eq(first(pool, a), first(pool, b));
  }
  return {};
}

}  // namespace

Expr simplified_comparison(ExprPool& pool, ExprOp op, Expr a, Expr b) {
  if (a == b) return bit(pool, or_equal(op));
  if (op != ExprOp::eq && (pool.is_constant(a) || pool.is_constant(b)))
    if (const Expr e = end_of_range(pool, op, a, b)) return e;
  if (const Expr e = choice_rule(pool, op, a, b)) return e;
  if (const Expr e = prefix_rule(pool, op, a, b)) return e;
  if (const Expr e = sext_rule(pool, op, a, b)) return e;
  return op == ExprOp::eq ? eq_rule(pool, a, b) : Expr{};
}

}  // namespace heddle
