// Algebraic simplifications, tried when an expression is made. Each answers what to take instead, or none if no
// rule fits.
//
// The forms that matter:
//   - constants stand right in commutative operations, and outside in sums: (x + y) + c;
//   - what moves bits (concat, extract, zext, shifts and masks by constants, byte swaps) is a concat of pieces,
//   the highest first
//     and never a concat itself, neighbours joined where they belong together. An extract is only of what is
//     not such a list. So bytes that were written to memory one by one and read again, whole or in parts, give
//     back the expression they are pieces of;
//   - of comparisons with constants only eq, ult and slt are left; negations of comparisons are comparisons.
// Each rule leads to expressions that are smaller or nearer to these forms, which is why they end. None goes
// down an expression for as long as that is deep (loops make deep ones), only through the pieces of a concat.
#pragma once

#include "trace/expressions.h"

namespace heddle {

// requires: one of them is no constant; of commutative operations `a`, or both
Expr simplified_arithmetic(ExprPool& pool, ExprOp op, Expr a, Expr b);
Expr simplified_comparison(ExprPool& pool, ExprOp op, Expr a, Expr b);
Expr simplified_ite(ExprPool& pool, Expr condition, Expr yes, Expr no);
Expr simplified_concat(ExprPool& pool, Expr high, Expr low);
Expr simplified_extract(ExprPool& pool, Expr e, unsigned from, unsigned width);
Expr simplified_sext(ExprPool& pool, Expr e, unsigned width);
Expr simplified_unary(ExprPool& pool, ExprOp op, Expr e);

}  // namespace heddle
