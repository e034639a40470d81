// What an expression is: the operations, and one node of a pool of them (expressions.h).
//
// Values are bit strings; floating point numbers are their bits, in the format that the node says.
//
// Semantics are those of the machine code, not of undefined behaviour, so that every expression has a value:
//   - shifts by the width or more give 0 (ashr: the sign);
//   - divisions by 0 are those of SMT-LIB: udiv gives all ones, sdiv all ones or, of a negative number, 1; urem
//   and srem give
//     the first operand. The smallest number by -1 is itself;
//   - floating point rounds to nearest even; a NaN that comes of an operation is its first operand that is one,
//   made
//     quiet, else the one with the sign that x86-64 makes (float_value.h has the rest).
#pragma once

#include <array>
#include <cstdint>

namespace heddle {

struct Expr {  // a number in a pool; 0: none
  uint32_t number = 0;
  explicit operator bool() const { return number != 0; }
  friend bool operator==(Expr, Expr) = default;
};

// There is no zext: it is a concat below a constant 0, so that what went through memory byte by byte has one
// form.
enum class ExprOp : uint8_t {
  constant,
  read,     // the value that the event `a` of the thread read (all its bytes, little-endian)
  unknown,  // not constrained: number `a` of Trace::approximations, then a number that makes it a different one
  // ---- both operands as wide as the result
  add,
  sub,
  mul,
  udiv,
  sdiv,
  urem,
  srem,
  shl,
  lshr,
  ashr,
  bit_and,
  bit_or,
  bit_xor,
  // ---- both operands as wide as each other, the result is one bit
  eq,
  ult,
  ule,
  slt,
  sle,
  // ---- widths differ
  ite,      // a: one bit; b, c
  concat,   // a: the high part, b: the low part
  extract,  // of a, from bit b (a plain number)
  sext,
  // ---- of integers, as the intrinsics of LLVM; of 0, ctlz and cttz give the width
  ctpop,
  ctlz,
  cttz,
  bswap,
  bitreverse,
  // ---- floating point; `format` is the operands' and the result's
  fadd,
  fsub,
  fmul,
  fdiv,
  frem,
  fma,
  fsqrt,
  fround,  // b: a plain number, FloatRounding
  feq,
  flt,
  fle,         // one bit; 0 if one of them is a NaN
  funordered,  // one bit: one of them is a NaN
  // ---- conversions; `from` is the operand's format, `format` the result's
  float_to_float,
  float_to_signed,
  float_to_unsigned,
  signed_to_float,
  unsigned_to_float,
  // ---- a function of a library that depends on its operands only (sin, pow): `a` is its number in
  // ExprPool::function_name, operands in b, c (none: 0)
  call,
};
inline constexpr unsigned kExprOps = static_cast<unsigned>(ExprOp::call) + 1;

enum class FloatFormat : uint8_t { none, half, bfloat, single, twice, x87, quad };
inline constexpr unsigned kFloatFormats = static_cast<unsigned>(FloatFormat::quad) + 1;
enum class FloatRounding : uint8_t { even, down, up, zero, away };  // away: to nearest, ties away from zero

constexpr unsigned width_of(FloatFormat format) {
  constexpr unsigned kWidths[kFloatFormats] = {0, 16, 16, 32, 64, 80, 128};
  return kWidths[static_cast<unsigned>(format)];
}

struct ExprNode {
  ExprOp op = ExprOp::constant;
  FloatFormat format : 4 = FloatFormat::none;
  FloatFormat from : 4 = FloatFormat::none;
  uint16_t width = 0;            // bits
  uint32_t a = 0, b = 0, c = 0;  // expressions or numbers, as the operation says. Constants: low and high half
                                 // of 64 bits; wider ones: place in the pool's words
  friend bool operator==(const ExprNode&, const ExprNode&) = default;
};
static_assert(sizeof(ExprNode) == 16, "pools have millions of them");

inline constexpr unsigned kMostExprBits = 4096 * 8;  // widest expression

constexpr unsigned words_of(unsigned width) {
  return (width + 63) / 64;
}
constexpr uint64_t low_bits(unsigned width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

constexpr bool is_arithmetic(ExprOp op) {
  return op >= ExprOp::add && op <= ExprOp::bit_xor;
}
constexpr bool is_comparison(ExprOp op) {
  return op >= ExprOp::eq && op <= ExprOp::sle;
}
constexpr bool is_commutative(ExprOp op) {
  return op == ExprOp::add || op == ExprOp::mul || op == ExprOp::bit_and || op == ExprOp::bit_or ||
         op == ExprOp::bit_xor || op == ExprOp::eq;
}
constexpr bool is_float_operation(ExprOp op) {
  return op >= ExprOp::fadd && op <= ExprOp::funordered;
}
constexpr bool is_conversion(ExprOp op) {
  return op >= ExprOp::float_to_float && op <= ExprOp::unsigned_to_float;
}

// How many operands are expressions. A call has one or two.
constexpr unsigned operand_count(ExprOp op) {
  if (op <= ExprOp::unknown) return 0;
  if (op == ExprOp::ite || op == ExprOp::fma) return 3;
  const bool one = op == ExprOp::extract || op == ExprOp::sext ||
                   (op >= ExprOp::ctpop && op <= ExprOp::bitreverse) || op == ExprOp::fsqrt ||
                   op == ExprOp::fround || is_conversion(op) || op == ExprOp::call;
  return one ? 1 : 2;
}

// Those of a, b and c that are expressions, in this order; the others are none.
constexpr std::array<Expr, 3> operands_of(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::constant:
    case ExprOp::read:
    case ExprOp::unknown:
      return {};
    case ExprOp::extract:
    case ExprOp::fround:
      return {Expr{node.a}};
    case ExprOp::call:
      return {Expr{node.b}, Expr{node.c}};
    default:
      return {Expr{node.a}, Expr{node.b}, Expr{node.c}};
  }
}

}  // namespace heddle
