#include "trace/float_value.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APSInt.h>

#include <cmath>
#include <cstring>

#include "base/result.h"

// In the C library; its headers declare them only to compilers with a type of that name.
extern "C" {
__float128 fmaf128(__float128, __float128, __float128);
__float128 fmodf128(__float128, __float128);
__float128 sqrtf128(__float128);
__float128 rintf128(__float128);
__float128 floorf128(__float128);
__float128 ceilf128(__float128);
__float128 truncf128(__float128);
__float128 roundf128(__float128);
}

namespace heddle {
namespace {

using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

// ---- arithmetic, by the host

template <class F>
struct Library {
  static F fma(F a, F b, F c) { return std::fma(a, b, c); }
  static F mod(F a, F b) { return std::fmod(a, b); }
  static F sqrt(F a) { return std::sqrt(a); }
  static F even(F a) { return std::rint(a); }
  static F down(F a) { return std::floor(a); }
  static F up(F a) { return std::ceil(a); }
  static F zero(F a) { return std::trunc(a); }
  static F away(F a) { return std::round(a); }
};

template <>
struct Library<__float128> {
  using F = __float128;
  static F fma(F a, F b, F c) { return fmaf128(a, b, c); }
  static F mod(F a, F b) { return fmodf128(a, b); }
  static F sqrt(F a) { return sqrtf128(a); }
  static F even(F a) { return rintf128(a); }
  static F down(F a) { return floorf128(a); }
  static F up(F a) { return ceilf128(a); }
  static F zero(F a) { return truncf128(a); }
  static F away(F a) { return roundf128(a); }
};

template <class F>
F rounded(F a, FloatRounding rounding) {
  switch (rounding) {
    case FloatRounding::down:
      return Library<F>::down(a);
    case FloatRounding::up:
      return Library<F>::up(a);
    case FloatRounding::zero:
      return Library<F>::zero(a);
    case FloatRounding::away:
      return Library<F>::away(a);
    default:
      return Library<F>::even(a);
  }
}

template <class F>
F computed(const ExprNode& node, F a, F b, F c) {
  switch (node.op) {
    case ExprOp::fadd:
      return a + b;
    case ExprOp::fsub:
      return a - b;
    case ExprOp::fmul:
      return a * b;
    case ExprOp::fdiv:
      return a / b;
    case ExprOp::frem:
      return Library<F>::mod(a, b);
    case ExprOp::fma:
      return Library<F>::fma(a, b, c);
    case ExprOp::fsqrt:
      return Library<F>::sqrt(a);
    default:
      return rounded(a, static_cast<FloatRounding>(node.b));
  }
}

// A number in one of the host's formats; its bits are in as many bytes as the format has.
template <class F, FloatFormat format>
struct Bits {
  static constexpr size_t kBytes = width_of(format) / 8;
  static constexpr size_t kWords = words_of(width_of(format));

  static F load(const uint64_t* words) {
    F value = 0;
    if (words != nullptr) std::memcpy(&value, words, kBytes);
    return value;
  }
  static void store(F value, uint64_t* words) {
    std::fill_n(words, kWords, 0);
    std::memcpy(words, &value, kBytes);
  }
};

constexpr unsigned quiet_bit(FloatFormat format) {
  constexpr unsigned kBits[kFloatFormats] = {0, 9, 6, 22, 51, 62, 111};
  return kBits[static_cast<unsigned>(format)];
}

// Sign, exponent and the quiet bit (x87: also the one above it, which is stored).
void store_default_nan(FloatFormat format, uint64_t* out) {
  const unsigned width = width_of(format), from = quiet_bit(format);
  const APInt bits = APInt::getBitsSet(width, from, width);
  std::copy_n(bits.getRawData(), words_of(width), out);
}

template <class F, FloatFormat format>
void host_value(const ExprNode& node, const NodeOperands& operands, uint64_t* out) {
  using Number = Bits<F, format>;
  F values[3];
  for (unsigned i = 0; i < 3; ++i) values[i] = Number::load(operands[i].words);
  const F a = values[0], b = values[1];
  switch (node.op) {
    case ExprOp::feq:
      *out = a == b;
      return;
    case ExprOp::flt:
      *out = a < b;
      return;
    case ExprOp::fle:
      *out = a <= b;
      return;
    case ExprOp::funordered:
      *out = a != a || b != b;
      return;
    default:
      break;
  }
  const F result = computed(node, a, b, values[2]);
  if (result == result) {
    Number::store(result, out);
    return;
  }
  for (unsigned i = 0; i < 3; ++i)
    if (values[i] != values[i]) {
      std::copy_n(operands[i].words, Number::kWords, out);
      out[quiet_bit(format) / 64] |= uint64_t{1} << quiet_bit(format) % 64;
      return;
    }
  store_default_nan(format, out);
}

// ---- conversions, by LLVM

const llvm::fltSemantics& semantics(FloatFormat format) {
  switch (format) {
    case FloatFormat::half:
      return APFloat::IEEEhalf();
    case FloatFormat::bfloat:
      return APFloat::BFloat();
    case FloatFormat::single:
      return APFloat::IEEEsingle();
    case FloatFormat::twice:
      return APFloat::IEEEdouble();
    case FloatFormat::x87:
      return APFloat::x87DoubleExtended();
    default:
      HEDDLE_CHECK(format == FloatFormat::quad);
      return APFloat::IEEEquad();
  }
}

bool is_small(FloatFormat format) {
  return format == FloatFormat::half || format == FloatFormat::bfloat;
}

APFloat to_format(APFloat value, FloatFormat format) {
  bool inexact;
  value.convert(semantics(format), APFloat::rmNearestTiesToEven, &inexact);
  return value;
}

APFloat float_number(const NodeOperand& operand, FloatFormat format) {
  return APFloat(semantics(format), operand.number());
}

void store(const APInt& bits, uint64_t* out) {
  std::copy_n(bits.getRawData(), words_of(bits.getBitWidth()), out);
}

// Towards zero; invalid if it does not fit.
bool as_integer(const APFloat& value, APSInt& result) {
  bool exact;
  return (value.convertToInteger(result, APFloat::rmTowardZero, &exact) & APFloat::opInvalidOp) == 0;
}

// cvttsd2si of 32 or 64 bits: what does not fit is the smallest number.
APInt instruction_result(const APFloat& value, unsigned width) {
  APSInt result(width, /*isUnsigned=*/false);
  return as_integer(value, result) ? APInt(result) : APInt::getSignedMinValue(width);
}

APInt to_integer(const APFloat& value, unsigned width, bool is_signed) {
  APSInt result(width, !is_signed);
  if (as_integer(value, result) || width > 64) return APInt(result);
  if (width < 32 || (is_signed && width == 32)) return instruction_result(value, 32).trunc(width);
  return instruction_result(value, 64).trunc(width);
}

APFloat from_integer(const APInt& value, FloatFormat format, bool is_signed) {
  APFloat result(semantics(is_small(format) ? FloatFormat::single : format));
  result.convertFromAPInt(value, is_signed, APFloat::rmNearestTiesToEven);
  return is_small(format) ? to_format(result, format) : result;
}

void conversion_value(const ExprNode& node, const NodeOperand& operand, uint64_t* out) {
  switch (node.op) {
    case ExprOp::float_to_float:
      store(to_format(float_number(operand, node.from), node.format).bitcastToAPInt(), out);
      return;
    case ExprOp::float_to_signed:
    case ExprOp::float_to_unsigned:
      store(to_integer(float_number(operand, node.from), node.width, node.op == ExprOp::float_to_signed), out);
      return;
    default:
      store(from_integer(operand.number(), node.format, node.op == ExprOp::signed_to_float).bitcastToAPInt(),
            out);
  }
}

// half, bfloat
void small_value(const ExprNode& node, const NodeOperands& operands, uint64_t* out) {
  NodeOperands wider = operands;
  uint64_t words[3];
  for (unsigned i = 0; i < 3; ++i) {
    if (operands[i].words == nullptr) continue;
    store(to_format(float_number(operands[i], node.format), FloatFormat::single).bitcastToAPInt(), &words[i]);
    wider[i] = {.words = &words[i], .width = 32};
  }
  uint64_t result;
  host_value<float, FloatFormat::single>(node, wider, &result);
  if (node.width == 1)
    *out = result;
  else
    store(to_format(float_number({&result, 32}, FloatFormat::single), node.format).bitcastToAPInt(), out);
}

}  // namespace

void float_value(const ExprNode& node, const NodeOperands& operands, uint64_t* out) {
  if (is_conversion(node.op)) return conversion_value(node, operands[0], out);
  switch (node.format) {
    case FloatFormat::single:
      return host_value<float, FloatFormat::single>(node, operands, out);
    case FloatFormat::twice:
      return host_value<double, FloatFormat::twice>(node, operands, out);
    case FloatFormat::x87:
      return host_value<long double, FloatFormat::x87>(node, operands, out);
    case FloatFormat::quad:
      return host_value<__float128, FloatFormat::quad>(node, operands, out);
    default:
      return small_value(node, operands, out);
  }
}

}  // namespace heddle
