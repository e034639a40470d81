#include "trace/constant_facts.h"
#include "trace/expression_rules.h"

namespace heddle {
namespace {

// Two pieces, none of them a concat, as one; none if they do not belong together.
Expr joined(ExprPool& pool, Expr high, Expr low) {
  const unsigned width = pool.width(high) + pool.width(low);
  if (pool.is_constant(high) && pool.is_constant(low))
    return constant(pool, constant_value(pool, high).concat(constant_value(pool, low)));
  if (is(pool, high, ExprOp::extract) && is(pool, low, ExprOp::extract) &&
      first(pool, high) == first(pool, low) && pool.node(high).b == pool.node(low).b + pool.width(low))
    return pool.extract(first(pool, low), pool.node(low).b, width);
  // The lowest bit of a sign extension is the operand's highest, so the bits above may go on being its sign.
  if (is(pool, high, ExprOp::sext)) {
    if (const Expr e = joined(pool, first(pool, high), low)) return pool.sext(e, width);
    return {};
  }
  if (pool.width(high) == 1 && !pool.is_constant(high) && high == pool.extract(low, pool.width(low) - 1, 1))
    return pool.sext(low, width);
  return {};
}

Expr extract_of_concat(ExprPool& pool, Expr e, unsigned from, unsigned width) {
  // Down the list to the piece in which the bits end.
  while (is(pool, e, ExprOp::concat)) {
    const Expr high = first(pool, e), low = second(pool, e);
    const unsigned border = pool.width(low);
    if (from >= border) return pool.extract(high, from - border, width);
    if (from + width > border) {
      const Expr low_part = pool.extract(low, from, border - from);
      return pool.concat(pool.extract(high, 0, from + width - border), low_part);
    }
    e = low;
  }
  return pool.extract(e, from, width);
}

Expr extract_of_sext(ExprPool& pool, Expr e, unsigned from, unsigned width) {
  const Expr inner = first(pool, e);
  const unsigned border = pool.width(inner);
  if (from + width <= border) return pool.extract(inner, from, width);
  const unsigned begin = std::min(from, border - 1);
  return pool.sext(pool.extract(inner, begin, border - begin), width);
}

Expr choice_of_bits(ExprPool& pool, Expr condition, Expr yes, Expr no) {
  if (is_zero(pool, yes)) return pool.binary(ExprOp::bit_and, pool.logical_not(condition), no);
  if (is_one(pool, yes)) return pool.binary(ExprOp::bit_or, condition, no);
  if (is_zero(pool, no)) return pool.binary(ExprOp::bit_and, condition, yes);
  if (is_one(pool, no)) return pool.binary(ExprOp::bit_or, pool.logical_not(condition), yes);
  return {};
}

}  // namespace

Expr simplified_concat(ExprPool& pool, Expr high, Expr low) {
  if (is(pool, high, ExprOp::concat)) {
    const Expr top = first(pool, high), middle = second(pool, high);
    return pool.concat(top, pool.concat(middle, low));
  }
  if (!is(pool, low, ExprOp::concat)) return joined(pool, high, low);
  const Expr middle = first(pool, low), rest = second(pool, low);
  const Expr e = joined(pool, high, middle);
  return e ? pool.concat(e, rest) : Expr{};
}

Expr simplified_extract(ExprPool& pool, Expr e, unsigned from, unsigned width) {
  if (from == 0 && width == pool.width(e)) return e;
  switch (pool.node(e).op) {
    case ExprOp::constant:
      return constant(pool, constant_value(pool, e).extractBits(width, from));
    case ExprOp::extract:
      return pool.extract(first(pool, e), pool.node(e).b + from, width);
    case ExprOp::concat:
      return extract_of_concat(pool, e, from, width);
    case ExprOp::sext:
      return extract_of_sext(pool, e, from, width);
    default:
      return {};
  }
}

Expr simplified_sext(ExprPool& pool, Expr e, unsigned width) {
  if (width == pool.width(e)) return e;
  if (is(pool, e, ExprOp::sext)) return pool.sext(first(pool, e), width);
  if (is(pool, e, ExprOp::concat)) {
    const Expr high = first(pool, e), low = second(pool, e);
    return pool.concat(pool.sext(high, width - pool.width(low)), low);
  }
  return {};
}

Expr simplified_ite(ExprPool& pool, Expr condition, Expr yes, Expr no) {
  if (pool.is_constant(condition)) return is_zero(pool, condition) ? no : yes;
  if (yes == no) return yes;
  if (is_with_constant(pool, condition, ExprOp::bit_xor)) return pool.ite(first(pool, condition), no, yes);
  if (is(pool, yes, ExprOp::ite) && first(pool, yes) == condition)
    return pool.ite(condition, second(pool, yes), no);
  if (is(pool, no, ExprOp::ite) && first(pool, no) == condition)
    return pool.ite(condition, yes, third(pool, no));
  if (pool.width(yes) == 1) return choice_of_bits(pool, condition, yes, no);
  const unsigned width = pool.width(yes);
  if (is_one(pool, yes) && is_zero(pool, no)) return pool.zext(condition, width);
  if (is_zero(pool, yes) && is_one(pool, no)) return pool.zext(pool.logical_not(condition), width);
  if (is_ones(pool, yes) && is_zero(pool, no)) return pool.sext(condition, width);
  if (is_zero(pool, yes) && is_ones(pool, no)) return pool.sext(pool.logical_not(condition), width);
  return {};
}

Expr simplified_unary(ExprPool& pool, ExprOp op, Expr e) {
  if (op == ExprOp::bswap) {
    Expr swapped = pool.extract(e, 0, 8);
    for (unsigned from = 8; from < pool.width(e); from += 8)
      swapped = pool.concat(swapped, pool.extract(e, from, 8));
    return swapped;
  }
  if (op == ExprOp::bitreverse && is(pool, e, op)) return first(pool, e);
  return {};
}

}  // namespace heddle
