#include <gtest/gtest.h>

#include <random>

#include "smt/smt_solver.h"
#include "trace/node_value.h"

namespace heddle {
namespace {

// Random nodes of one operation over constants: the term must have the value that the evaluator gives it; where
// it is approximated, it may have it.
class NodeCheck {
 public:
  explicit NodeCheck(uint64_t seed) : random_(seed) {}

  void check(ExprNode node) {
    std::array<std::vector<uint64_t>, 3> words;
    std::array<SmtTerm, 3> terms;
    NodeOperands operands;
    unsigned widths[3] = {node.width, node.width, node.width};
    if (is_comparison(node.op)) widths[0] = widths[1] = 1 + number(70);
    if (node.op == ExprOp::ite) widths[0] = 1;
    if (node.op == ExprOp::concat) {
      widths[0] = 1 + number(node.width - 1);
      widths[1] = node.width - widths[0];
    }
    if (node.op == ExprOp::extract) {
      node.b = number(20);
      widths[0] = node.width + node.b + number(20);
    }
    if (node.op == ExprOp::sext) widths[0] = 1 + number(node.width - 1);
    if (is_float_operation(node.op)) {
      std::fill_n(widths, 3, width_of(node.format));
      node.width = static_cast<uint16_t>(node.op >= ExprOp::feq ? 1 : width_of(node.format));
    }
    if (node.op == ExprOp::fround) node.b = number(5);
    if (node.from != FloatFormat::none) widths[0] = width_of(node.from);
    if (is_conversion(node.op) && node.from == FloatFormat::none) widths[0] = 1 + number(64);
    const unsigned count = operand_count(node.op);
    const bool is_float = is_float_operation(node.op) || node.from != FloatFormat::none;
    for (unsigned i = 0; i < count; ++i) {
      words[i] = is_float ? float_words(widths[i]) : integer_words(widths[i]);
      operands[i] = {.words = words[i].data(), .width = widths[i]};
      terms[i] = solver_.bits(words[i], widths[i]);
    }
    std::vector<uint64_t> expected(words_of(node.width));
    if (!evaluate_node(node, operands, nullptr, expected.data())) return;
    bool approximated = false;
    const SmtTerm same =
        solver_.equal(solver_.node(node, terms, approximated), solver_.bits(expected, node.width));
    const auto never = [] { return false; };
    EXPECT_EQ(solver_.check(std::array{same}, never), SmtSolver::Answer::satisfiable)
        << "operation " << int(node.op) << " width " << node.width << " format " << int(node.format) << " from "
        << int(node.from) << " of " << std::hex << words[0][0];
    if (approximated) return;
    EXPECT_EQ(solver_.check(std::array{solver_.no(same)}, never), SmtSolver::Answer::unsatisfiable)
        << "operation " << int(node.op);
    ++exact;
  }

  unsigned number(unsigned below) { return static_cast<unsigned>(random_() % below); }
  unsigned exact = 0;

 private:
  std::vector<uint64_t> integer_words(unsigned width) {
    std::vector<uint64_t> out(words_of(width));
    for (uint64_t& word : out) word = random_() >> (number(3) == 0 ? 60 : 0);
    if (number(5) == 0) std::ranges::fill(out, number(2) == 0 ? 0 : ~uint64_t{0});
    out.back() &= low_bits((width - 1) % 64 + 1);
    return out;
  }
  // Any bits, or a number of ordinary size.
  std::vector<uint64_t> float_words(unsigned width) {
    if (number(3) == 0 || (width != 32 && width != 64)) return integer_words(width);
    const double value = (static_cast<double>(number(2000)) - 1000) / 8;
    if (width == 64) return {std::bit_cast<uint64_t>(value)};
    return {std::bit_cast<uint32_t>(static_cast<float>(value))};
  }

  std::mt19937_64 random_;
  SmtSolver solver_;
};

ExprOp op_of(unsigned number) {
  return static_cast<ExprOp>(number);
}

TEST(SmtNodes, IntegersAreThoseOfTheEvaluator) {
  NodeCheck check(1);
  for (unsigned op = unsigned(ExprOp::add); op <= unsigned(ExprOp::bitreverse); ++op)
    for (unsigned i = 0; i < 12; ++i) {
      ExprNode node{.op = op_of(op), .width = static_cast<uint16_t>(2 + check.number(i % 3 == 0 ? 70 : 15))};
      if (is_comparison(node.op)) node.width = 1;
      if (node.op == ExprOp::bswap) node.width = static_cast<uint16_t>(16 * (1 + check.number(4)));
      check.check(node);
    }
  EXPECT_GT(check.exact, 200u);
}

TEST(SmtNodes, FloatsAreThoseOfTheEvaluator) {
  NodeCheck check(2);
  for (unsigned op = unsigned(ExprOp::fadd); op <= unsigned(ExprOp::funordered); ++op)
    for (const FloatFormat format : {FloatFormat::single, FloatFormat::twice, FloatFormat::half})
      for (unsigned i = 0; i < 3; ++i) check.check({.op = op_of(op), .format = format, .width = 1});
  EXPECT_GT(check.exact, 30u);  // comparisons
}

TEST(SmtNodes, ConversionsAreThoseOfTheEvaluator) {
  NodeCheck check(3);
  for (const FloatFormat format : {FloatFormat::half, FloatFormat::single, FloatFormat::twice}) {
    const auto width = static_cast<uint16_t>(width_of(format));
    for (unsigned i = 0; i < 6; ++i) {
      check.check(
          {.op = ExprOp::float_to_float, .format = format, .from = FloatFormat::single, .width = width});
      check.check({.op = ExprOp::float_to_float, .format = format, .from = FloatFormat::twice, .width = width});
      check.check({.op = ExprOp::signed_to_float, .format = format, .width = width});
      check.check({.op = ExprOp::unsigned_to_float, .format = format, .width = width});
      const auto bits = static_cast<uint16_t>(8 << check.number(4));
      check.check({.op = ExprOp::float_to_signed, .from = format, .width = bits});
      check.check({.op = ExprOp::float_to_unsigned, .from = format, .width = bits});
    }
  }
}

}  // namespace
}  // namespace heddle
