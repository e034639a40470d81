#include <fmt/format.h>

#include "trace/expressions.h"

namespace heddle {
namespace {

constexpr std::string_view kNames[kExprOps] = {
    "constant",
    "read",
    "unknown",
    "+",
    "-",
    "*",
    "/",
    "sdiv",
    "%",
    "srem",
    "<<",
    ">>",
    "ashr",
    "&",
    "|",
    "^",
    "==",
    "<",
    "<=",
    "slt",
    "sle",
    "ite",
    "concat",
    "extract",
    "sext",
    "ctpop",
    "ctlz",
    "cttz",
    "bswap",
    "bitreverse",
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "frem",
    "fma",
    "fsqrt",
    "fround",
    "feq",
    "flt",
    "fle",
    "funordered",
    "float_to_float",
    "float_to_signed",
    "float_to_unsigned",
    "signed_to_float",
    "unsigned_to_float",
    "call",
};

constexpr std::string_view kFormats[kFloatFormats] = {"", "half", "bfloat", "float", "double", "x87", "quad"};
constexpr std::string_view kRoundings[] = {"even", "down", "up", "zero", "away"};

class Writer {
 public:
  Writer(const ExprPool& pool, size_t longest) : pool_(pool), longest_(longest) {}

  std::string write(Expr e) {
    outer(e);
    if (out_.size() > longest_) {
      out_.resize(longest_);
      out_ += "...";
    }
    return std::move(out_);
  }

 private:
  // Every level writes something before it goes deeper, so nothing is deeper than the text is long.
  bool is_full() const { return out_.size() > longest_; }

  static bool is_infix(ExprOp op) {
    return (is_arithmetic(op) || is_comparison(op)) && kNames[static_cast<unsigned>(op)].size() <= 2;
  }

  void constant(Expr e) {
    if (pool_.width(e) <= 64) {
      const uint64_t bits = pool_.constant_bits(e);
      out_ += bits < 10'000 ? fmt::format("{}", bits) : fmt::format("{:#x}", bits);
      return;
    }
    const std::vector<uint64_t> words = pool_.constant_words(e);
    std::string digits = "0x";
    for (auto word = words.rbegin(); word != words.rend(); ++word) digits += fmt::format("{:016x}", *word);
    out_ += digits;
  }

  void outer(Expr e) {
    if (is_full()) return;
    const ExprNode& node = pool_.node(e);
    if (is_not(node)) {
      out_ += '!';
      return inner(Expr{node.a});
    }
    if (is_infix(node.op)) {
      inner(Expr{node.a});
      if (node.op == ExprOp::add && node.width > 8 && node.width <= 64 && is_negative(Expr{node.b})) {
        out_ += fmt::format(" - {}", -pool_.constant_bits(Expr{node.b}) & low_bits(node.width));
        return;
      }
      out_ += fmt::format(" {} ", kNames[static_cast<unsigned>(node.op)]);
      return inner(Expr{node.b});
    }
    switch (node.op) {
      case ExprOp::constant:
        return constant(e);
      case ExprOp::read:
        out_ += fmt::format("read {}", node.a);
        return;
      case ExprOp::unknown:
        out_ += fmt::format("unknown {}.{}", node.a, node.b);
        return;
      case ExprOp::ite:
        inner(Expr{node.a});
        out_ += " ? ";
        inner(Expr{node.b});
        out_ += " : ";
        return inner(Expr{node.c});
      default:
        return atom(node);
    }
  }

  void inner(Expr e) {
    if (is_full()) return;
    const ExprNode& node = pool_.node(e);
    const bool compound = (is_infix(node.op) && !is_not(node)) || node.op == ExprOp::read ||
                          node.op == ExprOp::unknown || node.op == ExprOp::ite;
    if (compound) out_ += '(';
    outer(e);
    if (compound) out_ += ')';
  }

  // What needs no parentheses: name(operands).
  void atom(const ExprNode& node) {
    switch (node.op) {
      case ExprOp::extract:
        out_ += fmt::format("bits{}..{}(", node.b, node.b + node.width - 1);
        outer(Expr{node.a});
        break;
      case ExprOp::concat:
        if (pool_.is_constant(Expr{node.a}) && is_zero(Expr{node.a})) {
          out_ += fmt::format("zext{}(", node.width);
          outer(Expr{node.b});
        } else {
          out_ += "concat(";
          operands(node);
        }
        break;
      case ExprOp::call:
        out_ += fmt::format("{}(", pool_.function_name(node.a));
        operands(node);
        break;
      case ExprOp::fround:
        out_ += fmt::format("fround.{}.{}(", kFormats[static_cast<unsigned>(node.format)], kRoundings[node.b]);
        operands(node);
        break;
      default:
        out_ += kNames[static_cast<unsigned>(node.op)];
        if (node.op == ExprOp::sext || node.op == ExprOp::float_to_signed ||
            node.op == ExprOp::float_to_unsigned)
          out_ += fmt::format("{}", node.width);
        for (const FloatFormat format : {node.from, node.format})
          if (format != FloatFormat::none) out_ += fmt::format(".{}", kFormats[static_cast<unsigned>(format)]);
        out_ += '(';
        operands(node);
    }
    out_ += ')';
  }

  void operands(const ExprNode& node) {
    bool later = false;
    for (const Expr operand : operands_of(node)) {
      if (!operand) continue;
      if (later) out_ += ", ";
      later = true;
      outer(operand);
    }
  }

  bool is_zero(Expr e) const {
    for (const uint64_t word : pool_.constant_words(e))
      if (word != 0) return false;
    return true;
  }

  bool is_negative(Expr e) const {
    return pool_.is_constant(e) && (pool_.constant_bits(e) >> (pool_.width(e) - 1) & 1) != 0;
  }

  bool is_not(const ExprNode& node) const {
    return node.op == ExprOp::bit_xor && node.width == 1 && pool_.is_constant(Expr{node.b}) &&
           pool_.constant_bits(Expr{node.b}) == 1;
  }

  const ExprPool& pool_;
  const size_t longest_;
  std::string out_;
};

}  // namespace

std::string ExprPool::text(Expr e, size_t longest) const {
  if (!e) return "none";
  return Writer(*this, longest).write(e);
}

}  // namespace heddle
