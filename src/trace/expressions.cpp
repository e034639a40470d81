#include "trace/expressions.h"

#include <algorithm>
#include <cstring>

#include "trace/expression_rules.h"
#include "trace/math_functions.h"
#include "trace/node_value.h"

namespace heddle {
namespace {

uint64_t mixed(uint64_t x) {  // the end of MurmurHash3
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

bool is_wide_constant(const ExprNode& node) {
  return node.op == ExprOp::constant && node.width > 64;
}

}  // namespace

ExprPool::ExprPool(Simplify simplify) : nodes_(1), table_(64), simplify_(simplify) {}

// ---- the table

uint64_t ExprPool::hash_of(const ExprNode& node) const {
  if (is_wide_constant(node)) {
    uint64_t hash = node.width;
    for (unsigned i = 0; i < words_of(node.width); ++i) hash = mixed(hash ^ words_[node.a + i]);
    return hash;
  }
  uint64_t halves[2];
  std::memcpy(halves, &node, sizeof halves);
  return mixed(mixed(halves[0]) + halves[1]);
}

void ExprPool::insert(Expr e) {
  const uint64_t hash = hash_of(nodes_[e.number]);
  const size_t mask = table_.size() - 1;
  size_t slot = hash & mask;
  while (table_[slot].number != 0) slot = (slot + 1) & mask;
  table_[slot] = {.number = e.number, .tag = static_cast<uint32_t>(hash >> 32)};
}

void ExprPool::grow() {
  table_.assign(table_.size() * 2, {});
  for (uint32_t i = 1; i < size(); ++i) insert(Expr{i});
}

Expr ExprPool::intern(const ExprNode& node) {
  const uint64_t hash = hash_of(node);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = table_.size() - 1;
  size_t slot = hash & mask;
  for (; table_[slot].number != 0; slot = (slot + 1) & mask)
    if (table_[slot].tag == tag && is_same(nodes_[table_[slot].number], node)) return Expr{table_[slot].number};
  HEDDLE_CHECK(nodes_.size() < UINT32_MAX);
  const Expr e{size()};
  nodes_.push_back(node);
  table_[slot] = {.number = e.number, .tag = tag};
  if (nodes_.size() * 3 > table_.size() * 2) grow();
  return e;
}

bool ExprPool::is_same(const ExprNode& left, const ExprNode& right) const {
  if (!is_wide_constant(left) || !is_wide_constant(right)) return left == right;
  const auto words = [&](const ExprNode& node) { return std::span(&words_[node.a], words_of(node.width)); };
  return left.width == right.width && std::ranges::equal(words(left), words(right));
}

// The words stand at the end of words_ while the constant is looked for, and stay there if it is new.
Expr ExprPool::intern_wide(std::span<const uint64_t> words, unsigned width) {
  HEDDLE_CHECK(words_.size() + words.size() < UINT32_MAX);
  const auto place = static_cast<uint32_t>(words_.size());
  words_.insert(words_.end(), words.begin(), words.end());
  const Expr e = intern({.op = ExprOp::constant, .width = static_cast<uint16_t>(width), .a = place});
  if (node(e).a != place) words_.resize(place);
  return e;
}

// ---- folding

bool ExprPool::can_fold(const ExprNode& node) const {
  if (simplify_ == Simplify::no) return false;
  const std::array<Expr, 3> operands = operands_of(node);
  if (!operands[0]) return false;
  for (const Expr e : operands)
    if (e && !is_constant(e)) return false;
  return node.op != ExprOp::call || called(node) != nullptr;
}

Expr ExprPool::fold(const ExprNode& node) {
  NodeOperands values;
  uint64_t narrow[3];
  const std::array<Expr, 3> operands = operands_of(node);
  for (unsigned i = 0; i < 3; ++i) {
    if (!operands[i]) continue;
    values[i].width = width(operands[i]);
    if (values[i].width <= 64) narrow[i] = constant_bits(operands[i]);
    values[i].words = values[i].width <= 64 ? &narrow[i] : wide_constant(operands[i]);
  }
  const MathFunction* function = node.op == ExprOp::call ? called(node) : nullptr;
  if (node.width <= 64) {
    uint64_t out;
    HEDDLE_CHECK(evaluate_node(node, values, function, &out));
    return constant(out, node.width);
  }
  std::vector<uint64_t> out(words_of(node.width));
  HEDDLE_CHECK(evaluate_node(node, values, function, out.data()));
  return constant(out, node.width);
}

Expr ExprPool::make(const ExprNode& node) {
  return can_fold(node) ? fold(node) : intern(node);
}

// ---- leaves

uint64_t ExprPool::constant_bits(Expr e) const {
  const ExprNode& n = node(e);
  return n.width <= 64 ? n.a | static_cast<uint64_t>(n.b) << 32 : words_[n.a];
}

std::vector<uint64_t> ExprPool::constant_words(Expr e) const {
  if (width(e) <= 64) return {constant_bits(e)};
  const uint64_t* words = wide_constant(e);
  return std::vector<uint64_t>(words, words + words_of(width(e)));
}

Expr ExprPool::constant(uint64_t bits, unsigned width) {
  HEDDLE_CHECK(width >= 1 && width <= kMostExprBits);
  if (width > 64) {
    std::vector<uint64_t> words(words_of(width));
    words[0] = bits;
    return intern_wide(words, width);
  }
  bits &= low_bits(width);
  return intern({.op = ExprOp::constant,
                 .width = static_cast<uint16_t>(width),
                 .a = static_cast<uint32_t>(bits),
                 .b = static_cast<uint32_t>(bits >> 32)});
}

Expr ExprPool::constant(std::span<const uint64_t> words, unsigned width) {
  if (width <= 64) return constant(words[0], width);
  HEDDLE_CHECK(width <= kMostExprBits && words.size() >= words_of(width));
  std::vector<uint64_t> copy(words.begin(), words.begin() + words_of(width));  // they may be the pool's
  copy.back() &= low_bits((width - 1) % 64 + 1);
  return intern_wide(copy, width);
}

Expr ExprPool::read(uint32_t event, unsigned width) {
  HEDDLE_CHECK(width >= 1 && width <= kMostExprBits);
  return intern({.op = ExprOp::read, .width = static_cast<uint16_t>(width), .a = event});
}

Expr ExprPool::unknown(uint32_t approximation, unsigned width) {
  HEDDLE_CHECK(width >= 1 && width <= kMostExprBits);
  return intern(
      {.op = ExprOp::unknown, .width = static_cast<uint16_t>(width), .a = approximation, .b = unknowns_++});
}

// ---- operations

Expr ExprPool::binary(ExprOp op, Expr a, Expr b) {
  HEDDLE_CHECK((is_arithmetic(op) || is_comparison(op)) && width(a) == width(b));
  if (is_commutative(op) && (is_constant(a) != is_constant(b) ? is_constant(a) : a.number > b.number))
    std::swap(a, b);
  const bool comparison = is_comparison(op);
  const ExprNode node{.op = op, .width = comparison ? uint16_t{1} : width(a), .a = a.number, .b = b.number};
  if (simplify_ == Simplify::no) return intern(node);
  if (is_constant(a) && is_constant(b)) return fold(node);
  if (const Expr e =
          comparison ? simplified_comparison(*this, op, a, b) : simplified_arithmetic(*this, op, a, b))
    return e;
  return intern(node);
}

Expr ExprPool::ite(Expr condition, Expr yes, Expr no) {
  HEDDLE_CHECK(width(condition) == 1 && width(yes) == width(no));
  if (simplify_ == Simplify::yes)
    if (const Expr e = simplified_ite(*this, condition, yes, no)) return e;
  return intern(
      {.op = ExprOp::ite, .width = width(yes), .a = condition.number, .b = yes.number, .c = no.number});
}

Expr ExprPool::concat(Expr high, Expr low) {
  const unsigned sum = width(high) + width(low);
  HEDDLE_CHECK(sum <= kMostExprBits);
  if (simplify_ == Simplify::yes)
    if (const Expr e = simplified_concat(*this, high, low)) return e;
  return intern({.op = ExprOp::concat, .width = static_cast<uint16_t>(sum), .a = high.number, .b = low.number});
}

Expr ExprPool::extract(Expr e, unsigned from, unsigned width) {
  HEDDLE_CHECK(width >= 1 && from + width <= this->width(e));
  if (simplify_ == Simplify::yes)
    if (const Expr simpler = simplified_extract(*this, e, from, width)) return simpler;
  return intern({.op = ExprOp::extract, .width = static_cast<uint16_t>(width), .a = e.number, .b = from});
}

Expr ExprPool::zext(Expr e, unsigned width) {
  HEDDLE_CHECK(width >= this->width(e));
  return width == this->width(e) ? e : concat(constant(0, width - this->width(e)), e);
}

Expr ExprPool::sext(Expr e, unsigned width) {
  HEDDLE_CHECK(width >= this->width(e) && width <= kMostExprBits);
  const ExprNode node{.op = ExprOp::sext, .width = static_cast<uint16_t>(width), .a = e.number};
  if (simplify_ == Simplify::yes)
    if (const Expr simpler = simplified_sext(*this, e, width)) return simpler;
  return make(node);
}

Expr ExprPool::unary(ExprOp op, Expr e) {
  HEDDLE_CHECK(op >= ExprOp::ctpop && op <= ExprOp::bitreverse && (op != ExprOp::bswap || width(e) % 16 == 0));
  const ExprNode node{.op = op, .width = width(e), .a = e.number};
  if (can_fold(node)) return fold(node);
  if (simplify_ == Simplify::yes)
    if (const Expr simpler = simplified_unary(*this, op, e)) return simpler;
  return intern(node);
}

Expr ExprPool::logical_not(Expr e) {
  HEDDLE_CHECK(width(e) == 1);
  return binary(ExprOp::bit_xor, e, constant(1, 1));
}

Expr ExprPool::floating(ExprOp op, FloatFormat format, Expr a, Expr b, Expr c) {
  HEDDLE_CHECK(is_float_operation(op) && op != ExprOp::fround && width(a) == width_of(format));
  HEDDLE_CHECK(op == ExprOp::fsqrt ? !b : width(b) == width(a));
  HEDDLE_CHECK(op == ExprOp::fma ? width(c) == width(a) : !c);
  const unsigned width = op >= ExprOp::feq ? 1 : width_of(format);
  return make({.op = op,
               .format = format,
               .width = static_cast<uint16_t>(width),
               .a = a.number,
               .b = b.number,
               .c = c.number});
}

Expr ExprPool::round(FloatFormat format, Expr e, FloatRounding rounding) {
  HEDDLE_CHECK(width(e) == width_of(format));
  return make({.op = ExprOp::fround,
               .format = format,
               .width = width(e),
               .a = e.number,
               .b = static_cast<uint32_t>(rounding)});
}

Expr ExprPool::convert(ExprOp op, FloatFormat from, FloatFormat to, Expr e, unsigned width) {
  HEDDLE_CHECK(is_conversion(op));
  HEDDLE_CHECK(from == FloatFormat::none ? op >= ExprOp::signed_to_float : this->width(e) == width_of(from));
  if (op == ExprOp::float_to_float && from == to) return e;
  if (to != FloatFormat::none) width = width_of(to);
  HEDDLE_CHECK(width >= 1 && width <= kMostExprBits);
  return make({.op = op, .format = to, .from = from, .width = static_cast<uint16_t>(width), .a = e.number});
}

const MathFunction* ExprPool::called(const ExprNode& call) const {
  const MathFunction* function = functions_[call.a].known;
  if (function == nullptr || call.width != function->width || width(Expr{call.b}) != function->width)
    return nullptr;
  const bool fits =
      function->operands == 1 ? call.c == 0 : call.c != 0 && width(Expr{call.c}) == function->width;
  return fits ? function : nullptr;
}

uint32_t ExprPool::function_number(std::string_view name) {
  const auto found = std::ranges::find(functions_, name, &Function::name);
  if (found != functions_.end()) return static_cast<uint32_t>(found - functions_.begin());
  functions_.push_back({std::string(name), find_math_function(name)});
  return static_cast<uint32_t>(functions_.size() - 1);
}

Expr ExprPool::call(std::string_view function, unsigned width, Expr a, Expr b) {
  HEDDLE_CHECK(a && width >= 1 && width <= kMostExprBits);
  return make({.op = ExprOp::call,
               .width = static_cast<uint16_t>(width),
               .a = function_number(function),
               .b = a.number,
               .c = b.number});
}

}  // namespace heddle
