// Questions about expressions that the rules ask, and shorthand for making constants.
#pragma once

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/ArrayRef.h>

#include "trace/expressions.h"

namespace heddle {

// requires: pool.is_constant(e)
inline llvm::APInt constant_value(const ExprPool& pool, Expr e) {
  const unsigned width = pool.width(e);
  if (width <= 64) return llvm::APInt(width, pool.constant_bits(e));
  return llvm::APInt(width, llvm::ArrayRef<uint64_t>(pool.wide_constant(e), words_of(width)));
}

inline Expr constant(ExprPool& pool, const llvm::APInt& value) {
  return pool.constant(std::span(value.getRawData(), value.getNumWords()), value.getBitWidth());
}

inline Expr zeros(ExprPool& pool, unsigned width) {
  return constant(pool, llvm::APInt::getZero(width));
}
inline Expr ones(ExprPool& pool, unsigned width) {
  return constant(pool, llvm::APInt::getAllOnes(width));
}

inline bool is_zero(const ExprPool& pool, Expr e) {
  return pool.is_constant(e) && constant_value(pool, e).isZero();
}
inline bool is_one(const ExprPool& pool, Expr e) {
  return pool.is_constant(e) && constant_value(pool, e).isOne();
}
inline bool is_ones(const ExprPool& pool, Expr e) {
  return pool.is_constant(e) && constant_value(pool, e).isAllOnes();
}

inline bool is(const ExprPool& pool, Expr e, ExprOp op) {
  return pool.node(e).op == op;
}
inline Expr first(const ExprPool& pool, Expr e) {
  return Expr{pool.node(e).a};
}
inline Expr second(const ExprPool& pool, Expr e) {
  return Expr{pool.node(e).b};
}
inline Expr third(const ExprPool& pool, Expr e) {
  return Expr{pool.node(e).c};
}

// e is x op C
inline bool is_with_constant(const ExprPool& pool, Expr e, ExprOp op) {
  return is(pool, e, op) && pool.is_constant(second(pool, e));
}

// e is ite(c, C1, C2)
inline bool is_choice_of_constants(const ExprPool& pool, Expr e) {
  return is(pool, e, ExprOp::ite) && pool.is_constant(second(pool, e)) && pool.is_constant(third(pool, e));
}

// One is the other with all bits turned over.
inline bool are_complements(const ExprPool& pool, Expr a, Expr b) {
  const auto is_not = [&](Expr e, Expr of) {
    return is(pool, e, ExprOp::bit_xor) && first(pool, e) == of && is_ones(pool, second(pool, e));
  };
  return is_not(a, b) || is_not(b, a);
}

}  // namespace heddle
