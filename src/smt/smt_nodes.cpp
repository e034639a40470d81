// Expressions of traces (expression.h) as terms: one case for each operation.
#include <functional>

#include "base/result.h"
#include "smt/smt_inner.h"

namespace heddle {
namespace {

z3::expr from_truth(const z3::expr& truth) {
  return z3::ite(truth, truth.ctx().bv_val(1, 1), truth.ctx().bv_val(0, 1));
}

z3::expr bit(const z3::expr& e, unsigned i) {
  return e.extract(i, i);
}

// The parts of the string of this width in the opposite order.
z3::expr reversed(const z3::expr& e, unsigned part) {
  const unsigned width = e.get_sort().bv_size();
  z3::expr out = e.extract(part - 1, 0);
  for (unsigned from = part; from < width; from += part)
    out = z3::concat(out, e.extract(from + part - 1, from));
  return out;
}

z3::expr count_of_ones(const z3::expr& e) {
  const unsigned width = e.get_sort().bv_size();
  z3::expr sum = e.ctx().bv_val(0, width);
  for (unsigned i = 0; i < width; ++i) sum = sum + (width == 1 ? bit(e, i) : z3::zext(bit(e, i), width - 1));
  return sum;
}

// Of how many zeros come before the first one, as `bit_at` goes through the bits.
z3::expr count_of_zeros(const z3::expr& e, const std::function<unsigned(unsigned)>& bit_at) {
  const unsigned width = e.get_sort().bv_size();
  z3::expr out = e.ctx().bv_val(width, width);
  for (unsigned i = width; i-- > 0;)
    out = z3::ite(bit(e, bit_at(i)) == e.ctx().bv_val(1, 1), e.ctx().bv_val(i, width), out);
  return out;
}

std::optional<z3::expr> integer_term(const ExprNode& node, const z3::expr& a, const z3::expr& b,
                                     const z3::expr& c) {
  switch (node.op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::udiv:
      return z3::udiv(a, b);
    case ExprOp::sdiv:
      return a / b;
    case ExprOp::urem:
      return z3::urem(a, b);
    case ExprOp::srem:
      return z3::srem(a, b);
    case ExprOp::shl:
      return z3::shl(a, b);
    case ExprOp::lshr:
      return z3::lshr(a, b);
    case ExprOp::ashr:
      return z3::ashr(a, b);
    case ExprOp::bit_and:
      return a & b;
    case ExprOp::bit_or:
      return a | b;
    case ExprOp::bit_xor:
      return a ^ b;
    case ExprOp::eq:
      return from_truth(a == b);
    case ExprOp::ult:
      return from_truth(z3::ult(a, b));
    case ExprOp::ule:
      return from_truth(z3::ule(a, b));
    case ExprOp::slt:
      return from_truth(z3::slt(a, b));
    case ExprOp::sle:
      return from_truth(z3::sle(a, b));
    case ExprOp::ite:
      return z3::ite(a == a.ctx().bv_val(1, 1), b, c);
    case ExprOp::concat:
      return z3::concat(a, b);
    case ExprOp::extract:
      return a.extract(node.b + node.width - 1, node.b);
    case ExprOp::sext:
      return z3::sext(a, node.width - a.get_sort().bv_size());
    case ExprOp::ctpop:
      return count_of_ones(a);
    case ExprOp::ctlz:
      return count_of_zeros(a, [&](unsigned i) { return node.width - 1 - i; });
    case ExprOp::cttz:
      return count_of_zeros(a, [](unsigned i) { return i; });
    case ExprOp::bswap:
      return reversed(a, 8);
    case ExprOp::bitreverse:
      return reversed(a, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

SmtTerm SmtSolver::node(const ExprNode& node, const std::array<SmtTerm, 3>& operands, bool& approximated) {
  const std::array<z3::expr, 3> terms = {inner_->term(operands[0]), inner_->term(operands[1]),
                                         inner_->term(operands[2])};
  const bool is_float = is_float_operation(node.op) || is_conversion(node.op);
  if (!is_float) {
    if (std::optional<z3::expr> term = integer_term(node, terms[0], terms[1], terms[2]))
      return inner_->add(*term);
  }
  const z3::expr free = inner_->variable("free", inner_->context.bv_sort(node.width));
  if (is_float)
    if (std::optional<z3::expr> term = float_term(node, terms, free, approximated)) return inner_->add(*term);
  approximated = true;
  return inner_->add(free);
}

}  // namespace heddle
