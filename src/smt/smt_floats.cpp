// Floating point operations as terms of the theory of floating point, where they agree with float_value.h: in
// all formats of the theory, and all cases but which NaN it is and integers that do not fit.
#include "smt/smt_inner.h"

namespace heddle {
namespace {

struct Format {
  unsigned exponent, significand;  // as the theory counts: with the hidden bit
};

// half and bfloat are computed as single by the machine: rounded twice, they are not the theory's.
std::optional<Format> format_of(FloatFormat format) {
  switch (format) {
    case FloatFormat::single:
      return Format{8, 24};
    case FloatFormat::twice:
      return Format{11, 53};
    case FloatFormat::quad:
      return Format{15, 113};
    default:
      return std::nullopt;
  }
}

// Comparisons and conversions from these are exact.
std::optional<Format> exact_format_of(FloatFormat format) {
  if (format == FloatFormat::half) return Format{5, 11};
  if (format == FloatFormat::bfloat) return Format{8, 8};
  return format_of(format);
}

class FloatTerms {
 public:
  FloatTerms(z3::context& context, const z3::expr& free, bool& approximated)
      : context_(context), free_(free), approximated_(approximated) {}

  z3::expr from_bits(const z3::expr& bits, Format format) {
    return made(Z3_mk_fpa_to_fp_bv(context_, bits, sort(format)));
  }
  z3::expr to_bits(const z3::expr& value) {
    approximated_ = true;
    return z3::ite(made(Z3_mk_fpa_is_nan(context_, value)), free_, made(Z3_mk_fpa_to_ieee_bv(context_, value)));
  }
  z3::expr truth(const z3::expr& value) { return z3::ite(value, context_.bv_val(1, 1), context_.bv_val(0, 1)); }
  // What fits, cut off; anything otherwise.
  z3::expr to_integer(const z3::expr& value, unsigned width, bool is_signed, Format format) {
    approximated_ = true;
    const z3::expr zero = made(Z3_mk_fpa_rtz(context_));
    const unsigned value_bits = is_signed ? width - 1 : width;
    const z3::expr limit = power_of_two(value_bits, format);
    const z3::expr whole = made(Z3_mk_fpa_round_to_integral(context_, zero, value));
    const z3::expr lowest =
        is_signed ? made(Z3_mk_fpa_neg(context_, limit)) : made(Z3_mk_fpa_zero(context_, sort(format), false));
    const z3::expr fits =
        made(Z3_mk_fpa_lt(context_, whole, limit)) && made(Z3_mk_fpa_leq(context_, lowest, whole));
    const z3::expr integer = made(is_signed ? Z3_mk_fpa_to_sbv(context_, zero, value, width)
                                            : Z3_mk_fpa_to_ubv(context_, zero, value, width));
    return z3::ite(fits, integer, free_);
  }
  z3::expr rounding(FloatRounding mode) {
    switch (mode) {
      case FloatRounding::even:
        return made(Z3_mk_fpa_rne(context_));
      case FloatRounding::down:
        return made(Z3_mk_fpa_rtn(context_));
      case FloatRounding::up:
        return made(Z3_mk_fpa_rtp(context_));
      case FloatRounding::zero:
        return made(Z3_mk_fpa_rtz(context_));
      case FloatRounding::away:
        return made(Z3_mk_fpa_rna(context_));
    }
    return made(Z3_mk_fpa_rne(context_));
  }
  z3::sort sort(Format format) {
    return z3::to_sort(context_, Z3_mk_fpa_sort(context_, format.exponent, format.significand));
  }
  z3::expr made(Z3_ast ast) { return z3::to_expr(context_, ast); }

 private:
  z3::expr power_of_two(unsigned exponent, Format format) {
    const z3::expr one = context_.bv_val(1, exponent + 2);
    return made(Z3_mk_fpa_to_fp_signed(context_, Z3_mk_fpa_rne(context_),
                                       z3::shl(one, context_.bv_val(exponent, exponent + 2)), sort(format)));
  }

  z3::context& context_;
  const z3::expr& free_;
  bool& approximated_;
};

std::optional<z3::expr> conversion(const ExprNode& node, const z3::expr& a, FloatTerms terms) {
  const Z3_context context = a.ctx();
  const z3::expr even = terms.rounding(FloatRounding::even);
  const std::optional<Format> from = exact_format_of(node.from);
  switch (node.op) {
    case ExprOp::float_to_float: {
      const std::optional<Format> to = exact_format_of(node.format);
      if (!from || !to) return std::nullopt;
      return terms.to_bits(
          terms.made(Z3_mk_fpa_to_fp_float(context, even, terms.from_bits(a, *from), terms.sort(*to))));
    }
    case ExprOp::float_to_signed:
    case ExprOp::float_to_unsigned:
      if (!from) return std::nullopt;
      return terms.to_integer(terms.from_bits(a, *from), node.width, node.op == ExprOp::float_to_signed, *from);
    default: {
      const std::optional<Format> to = format_of(node.format);
      if (!to) return std::nullopt;
      return terms.to_bits(terms.made(node.op == ExprOp::signed_to_float
                                          ? Z3_mk_fpa_to_fp_signed(context, even, a, terms.sort(*to))
                                          : Z3_mk_fpa_to_fp_unsigned(context, even, a, terms.sort(*to))));
    }
  }
}

}  // namespace

std::optional<z3::expr> float_term(const ExprNode& node, const std::array<z3::expr, 3>& operands,
                                   const z3::expr& free, bool& approximated) {
  z3::context& context = free.ctx();
  FloatTerms terms(context, free, approximated);
  if (is_conversion(node.op)) return conversion(node, operands[0], terms);
  const bool compares = node.op >= ExprOp::feq;
  const std::optional<Format> format = compares ? exact_format_of(node.format) : format_of(node.format);
  if (!format || node.op == ExprOp::frem) return std::nullopt;
  const unsigned count = operand_count(node.op);
  const z3::expr a = terms.from_bits(operands[0], *format);
  const z3::expr b = count > 1 ? terms.from_bits(operands[1], *format) : a;
  const z3::expr even = terms.rounding(FloatRounding::even);
  switch (node.op) {
    case ExprOp::fadd:
      return terms.to_bits(terms.made(Z3_mk_fpa_add(context, even, a, b)));
    case ExprOp::fsub:
      return terms.to_bits(terms.made(Z3_mk_fpa_sub(context, even, a, b)));
    case ExprOp::fmul:
      return terms.to_bits(terms.made(Z3_mk_fpa_mul(context, even, a, b)));
    case ExprOp::fdiv:
      return terms.to_bits(terms.made(Z3_mk_fpa_div(context, even, a, b)));
    case ExprOp::fma:
      return terms.to_bits(
          terms.made(Z3_mk_fpa_fma(context, even, a, b, terms.from_bits(operands[2], *format))));
    case ExprOp::fsqrt:
      return terms.to_bits(terms.made(Z3_mk_fpa_sqrt(context, even, a)));
    case ExprOp::fround:
      return terms.to_bits(terms.made(
          Z3_mk_fpa_round_to_integral(context, terms.rounding(static_cast<FloatRounding>(node.b)), a)));
    case ExprOp::feq:
      return terms.truth(terms.made(Z3_mk_fpa_eq(context, a, b)));
    case ExprOp::flt:
      return terms.truth(terms.made(Z3_mk_fpa_lt(context, a, b)));
    case ExprOp::fle:
      return terms.truth(terms.made(Z3_mk_fpa_leq(context, a, b)));
    case ExprOp::funordered:
      return terms.truth(terms.made(Z3_mk_fpa_is_nan(context, a)) || terms.made(Z3_mk_fpa_is_nan(context, b)));
    default:
      return std::nullopt;
  }
}

}  // namespace heddle
