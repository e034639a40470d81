// Expressions over the values that one thread read: hash-consed, constants folded, any width.
//
// An expression is a number in a pool; the pool belongs to one thread's trace, so threads can be interpreted
// side by side. Operands have smaller numbers than what is made of them. Equal expressions have equal numbers,
// and so have many that are equal for other reasons: expressions are simplified when they are made
// (expression_rules.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/expression.h"

namespace heddle {

struct MathFunction;

class ExprPool {
 public:
  enum class Simplify : uint8_t { yes, no };  // no: for tests, which compare with it; nothing is folded either
  explicit ExprPool(Simplify simplify = Simplify::yes);

  const ExprNode& node(Expr e) const { return nodes_[e.number]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }  // the first is no expression
  uint16_t width(Expr e) const { return node(e).width; }
  bool is_constant(Expr e) const { return node(e).op == ExprOp::constant; }
  // Constants: 64 bits at most, zero-extended; or of any width, all words, the lowest first.
  uint64_t constant_bits(Expr e) const;
  std::vector<uint64_t> constant_words(Expr e) const;
  // The same for wide ones, without a copy. requires: more than 64 bits
  const uint64_t* wide_constant(Expr e) const { return words_.data() + node(e).a; }
  const std::string& function_name(uint32_t function) const { return functions_[function].name; }
  // What the call calls; null if that is not known, or not with such operands.
  const MathFunction* called(const ExprNode& call) const;

  // requires everywhere: widths from 1 to kMostExprBits that fit the operation
  Expr constant(uint64_t bits, unsigned width);
  Expr constant(std::span<const uint64_t> words, unsigned width);
  Expr read(uint32_t event, unsigned width);
  Expr unknown(uint32_t approximation, unsigned width);  // another one each time
  // What the recorded path decides and nothing else depends on, in place of the number of an approximation.
  static constexpr uint32_t kDecidedByPath = UINT32_MAX;
  Expr binary(ExprOp op, Expr a, Expr b);  // arithmetic and comparisons of integers
  Expr ite(Expr condition, Expr yes, Expr no);
  Expr concat(Expr high, Expr low);
  Expr extract(Expr e, unsigned from, unsigned width);
  Expr zext(Expr e, unsigned width);
  Expr sext(Expr e, unsigned width);
  Expr unary(ExprOp op, Expr e);  // ctpop ... bitreverse
  Expr logical_not(Expr e);       // of one bit
  Expr floating(ExprOp op, FloatFormat format, Expr a, Expr b = {}, Expr c = {});
  Expr round(FloatFormat format, Expr e, FloatRounding rounding);
  // `from`, `to`: none where it is an integer; `width`: of an integer that it becomes.
  Expr convert(ExprOp op, FloatFormat from, FloatFormat to, Expr e, unsigned width = 0);
  Expr call(std::string_view function, unsigned width, Expr a, Expr b = {});

  // For people and for tests: "(read 3) + 1", with few parentheses; long ones are cut.
  std::string text(Expr e, size_t longest = 200) const;

  // The pool as it is stored. from_parts() trusts nothing.
  struct Parts {
    std::vector<ExprNode> nodes;
    std::vector<uint64_t> words;
    std::vector<std::string> functions;
  };
  Parts parts() const;
  static Result<ExprPool> from_parts(Parts parts);

 private:
  // The tag keeps a search from looking at nodes that are not the one, which are anywhere in memory.
  struct Slot {
    uint32_t number = 0;  // 0: free
    uint32_t tag = 0;     // the upper half of the hash
  };
  struct Function {
    std::string name;
    const MathFunction* known;
  };

  Expr make(const ExprNode& node);    // folds if it can, else:
  Expr intern(const ExprNode& node);  // the one there is, or a new one
  Expr intern_wide(std::span<const uint64_t> words, unsigned width);
  bool can_fold(const ExprNode& node) const;
  Expr fold(const ExprNode& node);
  uint64_t hash_of(const ExprNode& node) const;
  bool is_same(const ExprNode& left, const ExprNode& right) const;
  void insert(Expr e);  // into the table, where there is none like it
  void grow();
  uint32_t function_number(std::string_view name);
  Result<void> check_node(uint32_t number) const;

  std::vector<ExprNode> nodes_;
  std::vector<uint64_t> words_;      // of constants wider than 64 bits
  std::vector<Slot> table_;          // open addressing
  std::vector<Function> functions_;  // few
  uint32_t unknowns_ = 0;
  Simplify simplify_;
};

}  // namespace heddle
