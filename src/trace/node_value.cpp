#include "trace/node_value.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/ArrayRef.h>

#include <algorithm>
#include <bit>

#include "trace/float_value.h"

namespace heddle {
namespace {

using llvm::APInt;

int64_t sign_extended(uint64_t bits, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t narrow_sdiv(uint64_t a, uint64_t b, unsigned width) {
  const int64_t x = sign_extended(a, width), y = sign_extended(b, width);
  if (y == 0) return x < 0 ? 1 : ~uint64_t{0};
  if (y == -1) return -a;  // the smallest number has no opposite
  return static_cast<uint64_t>(x / y);
}

uint64_t narrow_srem(uint64_t a, uint64_t b, unsigned width) {
  const int64_t x = sign_extended(a, width), y = sign_extended(b, width);
  if (y == 0) return a;
  return y == -1 ? 0 : static_cast<uint64_t>(x % y);
}

uint64_t reversed(uint64_t bits) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 64; ++i) out |= (bits >> i & 1) << (63 - i);
  return out;
}

// Integer operations on 64 bits at most; bits above the width may be left over.
uint64_t narrow_value(const ExprNode& node, uint64_t a, uint64_t b, uint64_t c, const NodeOperands& operands) {
  const unsigned width = operands[0].width;
  switch (node.op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::udiv:
      return b == 0 ? ~uint64_t{0} : a / b;
    case ExprOp::sdiv:
      return narrow_sdiv(a, b, width);
    case ExprOp::urem:
      return b == 0 ? a : a % b;
    case ExprOp::srem:
      return narrow_srem(a, b, width);
    case ExprOp::shl:
      return b >= width ? 0 : a << b;
    case ExprOp::lshr:
      return b >= width ? 0 : a >> b;
    case ExprOp::ashr:
      return static_cast<uint64_t>(sign_extended(a, width) >> std::min<uint64_t>(b, 63));
    case ExprOp::bit_and:
      return a & b;
    case ExprOp::bit_or:
      return a | b;
    case ExprOp::bit_xor:
      return a ^ b;
    case ExprOp::eq:
      return a == b;
    case ExprOp::ult:
      return a < b;
    case ExprOp::ule:
      return a <= b;
    case ExprOp::slt:
      return sign_extended(a, width) < sign_extended(b, width);
    case ExprOp::sle:
      return sign_extended(a, width) <= sign_extended(b, width);
    case ExprOp::ite:
      return a != 0 ? b : c;
    case ExprOp::concat:
      return a << operands[1].width | b;
    case ExprOp::extract:
      return a >> node.b;
    case ExprOp::sext:
      return static_cast<uint64_t>(sign_extended(a, width));
    case ExprOp::ctpop:
      return static_cast<uint64_t>(std::popcount(a));
    case ExprOp::ctlz:
      return static_cast<uint64_t>(std::countl_zero(a)) - (64 - width);
    case ExprOp::cttz:
      return std::min<uint64_t>(static_cast<uint64_t>(std::countr_zero(a)), width);
    case ExprOp::bswap:
      return __builtin_bswap64(a) >> (64 - width);
    case ExprOp::bitreverse:
      return reversed(a) >> (64 - width);
    default:
      return 0;
  }
}

APInt wide_sdiv(const APInt& a, const APInt& b) {
  if (!b.isZero()) return a.sdiv(b);
  return a.isNegative() ? APInt(a.getBitWidth(), 1) : APInt::getAllOnes(a.getBitWidth());
}

APInt wide_arithmetic(ExprOp op, const APInt& a, const APInt& b) {
  switch (op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::udiv:
      return b.isZero() ? APInt::getAllOnes(a.getBitWidth()) : a.udiv(b);
    case ExprOp::sdiv:
      return wide_sdiv(a, b);
    case ExprOp::urem:
      return b.isZero() ? a : a.urem(b);
    case ExprOp::srem:
      return b.isZero() ? a : a.srem(b);
    case ExprOp::shl:
      return a.shl(b);
    case ExprOp::lshr:
      return a.lshr(b);
    case ExprOp::ashr:
      return a.ashr(b);
    case ExprOp::bit_and:
      return a & b;
    case ExprOp::bit_or:
      return a | b;
    default:
      return a ^ b;
  }
}

bool wide_comparison(ExprOp op, const APInt& a, const APInt& b) {
  switch (op) {
    case ExprOp::eq:
      return a == b;
    case ExprOp::ult:
      return a.ult(b);
    case ExprOp::ule:
      return a.ule(b);
    case ExprOp::slt:
      return a.slt(b);
    default:
      return a.sle(b);
  }
}

APInt wide_value(const ExprNode& node, const NodeOperands& operands) {
  const APInt a = operands[0].number();
  if (is_arithmetic(node.op)) return wide_arithmetic(node.op, a, operands[1].number());
  if (is_comparison(node.op)) return APInt(1, wide_comparison(node.op, a, operands[1].number()));
  switch (node.op) {
    case ExprOp::ite:
      return operands[a.isZero() ? 2 : 1].number();
    case ExprOp::concat:
      return a.concat(operands[1].number());
    case ExprOp::extract:
      return a.extractBits(node.width, node.b);
    case ExprOp::sext:
      return a.sext(node.width);
    case ExprOp::ctpop:
      return APInt(node.width, a.popcount());
    case ExprOp::ctlz:
      return APInt(node.width, a.countl_zero());
    case ExprOp::cttz:
      return APInt(node.width, a.countr_zero());
    case ExprOp::bswap:
      return a.byteSwap();
    default:
      return a.reverseBits();
  }
}

}  // namespace

bool evaluate_node(const ExprNode& node, const NodeOperands& operands, const MathFunction* function,
                   uint64_t* out) {
  if (is_float_operation(node.op) || is_conversion(node.op)) {
    float_value(node, operands, out);
    return true;
  }
  if (node.op == ExprOp::call && function != nullptr) {
    *out = function->evaluate(*operands[0].words, function->operands == 2 ? *operands[1].words : 0);
    return true;
  }
  if (operands[0].words == nullptr || node.op == ExprOp::call) {
    std::fill_n(out, words_of(node.width), 0);
    return false;
  }
  const auto word = [&](unsigned i) { return operands[i].words != nullptr ? *operands[i].words : 0; };
  if (node.width <= 64 && operands[0].width <= 64) {  // then the others are too
    *out = narrow_value(node, word(0), word(1), word(2), operands) & low_bits(node.width);
    return true;
  }
  const APInt result = wide_value(node, operands);
  std::copy_n(result.getRawData(), words_of(node.width), out);
  return true;
}

}  // namespace heddle
