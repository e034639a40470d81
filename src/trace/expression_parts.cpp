// Pools as they are stored: what from_parts() accepts, all other code may rely on.
#include <fmt/core.h>

#include "trace/expressions.h"
#include "trace/math_functions.h"

namespace heddle {
namespace {

Error bad(uint32_t number, std::string_view why) {
  return Error{.what = fmt::format("expression {} is not one: {}", number, why)};
}

bool has_float_format(ExprOp op) {
  return is_float_operation(op) || op == ExprOp::float_to_float || op == ExprOp::signed_to_float ||
         op == ExprOp::unsigned_to_float;
}

bool has_float_source(ExprOp op) {
  return op == ExprOp::float_to_float || op == ExprOp::float_to_signed || op == ExprOp::float_to_unsigned;
}

bool formats_fit(const ExprNode& node) {
  const auto fits = [](FloatFormat format, bool wanted) {
    return wanted ? format > FloatFormat::none && static_cast<unsigned>(format) < kFloatFormats
                  : format == FloatFormat::none;
  };
  return fits(node.format, has_float_format(node.op)) && fits(node.from, has_float_source(node.op));
}

// requires: operands, formats and their number are right. `a`, `b`, `c`: the operands' widths.
bool widths_fit(const ExprNode& node, unsigned a, unsigned b, unsigned c) {
  if (is_arithmetic(node.op)) return a == node.width && b == a;
  if (is_comparison(node.op)) return node.width == 1 && a == b;
  if (is_float_operation(node.op)) {
    const unsigned width = width_of(node.format);
    const unsigned count = operand_count(node.op);
    return node.width == (node.op >= ExprOp::feq ? 1 : width) && a == width && (count < 2 || b == width) &&
           (count < 3 || c == width);
  }
  if (is_conversion(node.op))
    return (node.from == FloatFormat::none || a == width_of(node.from)) &&
           (node.format == FloatFormat::none || node.width == width_of(node.format));
  switch (node.op) {
    case ExprOp::ite:
      return a == 1 && b == node.width && c == b;
    case ExprOp::concat:
      return a + b == node.width;
    case ExprOp::extract:
      return node.b < a && node.width <= a - node.b;
    case ExprOp::sext:
      return a <= node.width;
    case ExprOp::bswap:
      return a == node.width && a % 16 == 0;
    case ExprOp::ctpop:
    case ExprOp::ctlz:
    case ExprOp::cttz:
    case ExprOp::bitreverse:
      return a == node.width;
    default:
      return true;
  }
}

// Numbers in a, b and c that are no operands: those in range, and 0 where there is nothing.
bool numbers_fit(const ExprNode& node, uint32_t functions, uint32_t nodes) {
  switch (node.op) {
    case ExprOp::constant:
      return node.c == 0 && (node.width <= 64 || node.b == 0);
    case ExprOp::read:
      return node.b == 0 && node.c == 0;
    case ExprOp::unknown:
      return node.b < nodes && node.c == 0;
    case ExprOp::extract:
      return node.c == 0;
    case ExprOp::fround:
      return node.b <= static_cast<uint32_t>(FloatRounding::away) && node.c == 0;
    case ExprOp::call:
      return node.a < functions && node.b != 0;
    default: {
      const unsigned count = operand_count(node.op);
      return (count > 1) == (node.b != 0) && (count > 2) == (node.c != 0) && node.a != 0;
    }
  }
}

}  // namespace

ExprPool::Parts ExprPool::parts() const {
  Parts parts{.nodes = nodes_, .words = words_, .functions = {}};
  for (const Function& function : functions_) parts.functions.push_back(function.name);
  return parts;
}

Result<void> ExprPool::check_node(uint32_t number) const {
  const ExprNode& node = nodes_[number];
  if (static_cast<unsigned>(node.op) >= kExprOps) return bad(number, "there is no such operation");
  if (node.width == 0 || node.width > kMostExprBits) return bad(number, "its width");
  if (!formats_fit(node)) return bad(number, "its format");
  if (!numbers_fit(node, static_cast<uint32_t>(functions_.size()), size()))
    return bad(number, "a number in it");
  unsigned widths[3] = {};
  const std::array<Expr, 3> operands = operands_of(node);
  for (unsigned i = 0; i < 3; ++i) {
    if (operands[i].number >= number) return bad(number, "an operand that comes later");
    widths[i] = operands[i] ? width(operands[i]) : 0;
  }
  if (!widths_fit(node, widths[0], widths[1], widths[2])) return bad(number, "the widths do not fit");
  if (node.op != ExprOp::constant) return {};
  if (node.width <= 64) {
    if ((constant_bits(Expr{number}) & ~low_bits(node.width)) != 0) return bad(number, "bits beyond its width");
    return {};
  }
  const unsigned count = words_of(node.width);
  if (node.a > words_.size() || words_.size() - node.a < count) return bad(number, "its words are missing");
  if ((words_[node.a + count - 1] & ~low_bits((node.width - 1) % 64 + 1)) != 0)
    return bad(number, "bits beyond its width");
  return {};
}

Result<ExprPool> ExprPool::from_parts(Parts parts) {
  ExprPool pool;
  if (parts.nodes.empty() || parts.nodes[0] != ExprNode{}) return bad(0, "it is to be none");
  pool.nodes_ = std::move(parts.nodes);
  pool.words_ = std::move(parts.words);
  for (std::string& name : parts.functions) {
    const MathFunction* known = find_math_function(name);
    pool.functions_.push_back({std::move(name), known});
  }
  while (pool.nodes_.size() * 3 > pool.table_.size() * 2) pool.table_.resize(pool.table_.size() * 2);
  for (uint32_t i = 1; i < pool.size(); ++i) {
    HEDDLE_TRY(pool.check_node(i));
    const ExprNode& node = pool.nodes_[i];
    if (node.op == ExprOp::unknown) pool.unknowns_ = std::max(pool.unknowns_, node.b + 1);
    pool.insert(Expr{i});
  }
  return pool;
}

}  // namespace heddle
