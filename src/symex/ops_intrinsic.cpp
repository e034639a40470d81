// Intrinsics: bits, saturation, overflow, memory, floating point, reductions, variadic arguments.
#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <cmath>

#include "symex/machine.h"
#include "symex/variadic.h"

namespace heddle {
namespace {

using Intrinsic = llvm::Intrinsic::ID;

Intrinsic intrinsic_of(const Op& op) {
  return llvm::cast<llvm::CallBase>(op.instruction)->getIntrinsicID();
}

void same_value(SymbolicMachine& machine, const Op& op) {
  std::copy_n(machine.get(op.a), op.type->cells, machine.cells(op.to));
}

// ---- integers, lane by lane

template <ExprOp operation>
void unary(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  for (const Leaf& leaf : op.type->leaves)
    machine.set(machine.cells(op.to) + leaf.cell,
                machine.pool().unary(operation, machine.expression(a + leaf.cell, leaf.bits)));
}

template <ExprOp less, bool smaller>
void extreme(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  const Cell* b = machine.get(op.b);
  for (const Leaf& leaf : op.type->leaves) {
    const Expr left = machine.expression(a + leaf.cell, leaf.bits);
    const Expr right = machine.expression(b + leaf.cell, leaf.bits);
    const Expr first = machine.pool().binary(less, left, right);
    machine.set(machine.cells(op.to) + leaf.cell,
                smaller ? machine.pool().ite(first, left, right) : machine.pool().ite(first, right, left));
  }
}

void absolute(SymbolicMachine& machine, const Op& op) {
  const Cell* a = machine.get(op.a);
  ExprPool& pool = machine.pool();
  for (const Leaf& leaf : op.type->leaves) {
    const Expr value = machine.expression(a + leaf.cell, leaf.bits);
    const Expr zero = pool.zext(pool.constant(0, 1), leaf.bits);
    machine.set(machine.cells(op.to) + leaf.cell,
                pool.ite(pool.binary(ExprOp::slt, value, zero), pool.binary(ExprOp::sub, zero, value), value));
  }
}

// In twice the width, where nothing is lost.
Expr wide_result(ExprPool& pool, ExprOp operation, bool with_sign, Expr a, Expr b) {
  const unsigned wide = 2 * pool.width(a);
  const auto extend = [&](Expr e) { return with_sign ? pool.sext(e, wide) : pool.zext(e, wide); };
  return pool.binary(operation, extend(a), extend(b));
}

template <ExprOp operation, bool with_sign>
void with_overflow(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  const size_t lanes = op.type->leaves.size() / 2;
  for (size_t i = 0; i < lanes; ++i) {
    const Leaf& leaf = op.type->leaves[i];
    const Expr a = machine.expression(machine.get(op.a) + leaf.cell, leaf.bits);
    const Expr b = machine.expression(machine.get(op.b) + leaf.cell, leaf.bits);
    const Expr wide = wide_result(pool, operation, with_sign, a, b);
    const Expr result = pool.extract(wide, 0, leaf.bits);
    const Expr again = with_sign ? pool.sext(result, 2 * leaf.bits) : pool.zext(result, 2 * leaf.bits);
    machine.set(machine.cells(op.to) + leaf.cell, result);
    machine.set(machine.cells(op.to) + op.type->leaves[lanes + i].cell,
                pool.logical_not(pool.binary(ExprOp::eq, again, wide)));
  }
}

template <ExprOp operation, bool with_sign>
void saturated(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  for (const Leaf& leaf : op.type->leaves) {
    const Expr a = machine.expression(machine.get(op.a) + leaf.cell, leaf.bits);
    const Expr b = machine.expression(machine.get(op.b) + leaf.cell, leaf.bits);
    const Expr wide = wide_result(pool, operation, with_sign, a, b);
    const Expr result = pool.extract(wide, 0, leaf.bits);
    const Expr again = with_sign ? pool.sext(result, 2 * leaf.bits) : pool.zext(result, 2 * leaf.bits);
    const Expr ones = pool.sext(pool.constant(1, 1), leaf.bits),
               zero = pool.zext(pool.constant(0, 1), leaf.bits);
    Expr limit = operation == ExprOp::sub ? zero : ones;
    if (with_sign) {
      const Expr negative = pool.extract(wide, 2 * leaf.bits - 1, 1);
      const Expr one = pool.zext(pool.constant(1, 1), leaf.bits);
      const Expr lowest = pool.binary(ExprOp::shl, one, pool.constant(leaf.bits - 1, leaf.bits));
      limit = pool.ite(negative, lowest, pool.binary(ExprOp::bit_xor, lowest, ones));
    }
    machine.set(machine.cells(op.to) + leaf.cell,
                pool.ite(pool.binary(ExprOp::eq, again, wide), result, limit));
  }
}

// fshl, fshr: both operands behind each other, shifted by a number modulo the width.
template <bool left>
void funnel_shift(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  for (const Leaf& leaf : op.type->leaves) {
    const auto part = [&](int32_t operand) {
      return machine.expression(machine.get(operand) + leaf.cell, leaf.bits);
    };
    const Expr both = pool.concat(part(op.a), part(op.b));
    const Expr width = pool.constant(leaf.bits, leaf.bits < 7 ? 7 : leaf.bits);
    const Expr by = pool.binary(ExprOp::urem, pool.zext(part(op.c), pool.width(width)), width);
    const Expr wide_by =
        2 * leaf.bits >= pool.width(by) ? pool.zext(by, 2 * leaf.bits) : pool.extract(by, 0, 2 * leaf.bits);
    machine.set(machine.cells(op.to) + leaf.cell,
                left ? pool.extract(pool.binary(ExprOp::shl, both, wide_by), leaf.bits, leaf.bits)
                     : pool.extract(pool.binary(ExprOp::lshr, both, wide_by), 0, leaf.bits));
  }
}

template <ExprOp operation, ExprOp less = ExprOp::add, bool smaller = false>
void reduce(SymbolicMachine& machine, const Op& op) {
  const auto& call = *llvm::cast<llvm::CallBase>(op.instruction);
  const ValueLayout& vector = machine.code.layout(call.getArgOperand(0)->getType());
  ExprPool& pool = machine.pool();
  Expr out;
  for (const Leaf& leaf : vector.leaves) {
    const Expr lane = machine.expression(machine.get(op.a) + leaf.cell, leaf.bits);
    if (!out) {
      out = lane;
    } else if (less == ExprOp::add) {
      out = pool.binary(operation, out, lane);
    } else {
      const Expr first = pool.binary(less, out, lane);
      out = smaller ? pool.ite(first, out, lane) : pool.ite(first, lane, out);
    }
  }
  machine.set(machine.cells(op.to), out);
}

// ---- floating point

template <ExprOp operation>
void float_operation(SymbolicMachine& machine, const Op& op) {
  for (const Leaf& leaf : op.type->leaves) {
    const auto part = [&](int32_t operand) {
      return machine.expression(machine.get(operand) + leaf.cell, leaf.bits);
    };
    machine.set(machine.cells(op.to) + leaf.cell,
                operation == ExprOp::fma
                    ? machine.pool().floating(operation, leaf.format, part(op.a), part(op.b), part(op.c))
                    : machine.pool().floating(operation, leaf.format, part(op.a)));
  }
}

// Of concrete numbers, as float_binary does it.
template <class Number, class Bits>
bool multiply_add_here(const Cell& a, const Cell& b, const Cell& c, Cell& to) {
  if (a.expression || b.expression || c.expression) return false;
  const auto number = [](const Cell& cell) { return std::bit_cast<Number>(static_cast<Bits>(cell.bits)); };
  const Number product = number(a) * number(b);
  const Number sum = product + number(c);
  if (std::isnan(product) || std::isnan(sum)) return false;
  to = {std::bit_cast<Bits>(sum), {}};
  return true;
}

// The product is rounded, as the compiler's own code for it does without fused instructions.
void multiply_add(SymbolicMachine& machine, const Op& op) {
  for (const Leaf& leaf : op.type->leaves) {
    const auto cell = [&](int32_t operand) -> const Cell& { return machine.get(operand)[leaf.cell]; };
    Cell& to = machine.cells(op.to)[leaf.cell];
    if (leaf.format == FloatFormat::twice &&
        multiply_add_here<double, uint64_t>(cell(op.a), cell(op.b), cell(op.c), to))
      continue;
    if (leaf.format == FloatFormat::single &&
        multiply_add_here<float, uint32_t>(cell(op.a), cell(op.b), cell(op.c), to))
      continue;
    const auto part = [&](int32_t operand) {
      return machine.expression(machine.get(operand) + leaf.cell, leaf.bits);
    };
    const Expr product = machine.pool().floating(ExprOp::fmul, leaf.format, part(op.a), part(op.b));
    machine.set(machine.cells(op.to) + leaf.cell,
                machine.pool().floating(ExprOp::fadd, leaf.format, product, part(op.c)));
  }
}

template <FloatRounding rounding>
void round_float(SymbolicMachine& machine, const Op& op) {
  for (const Leaf& leaf : op.type->leaves)
    machine.set(machine.cells(op.to) + leaf.cell,
                machine.pool().round(leaf.format, machine.expression(machine.get(op.a) + leaf.cell, leaf.bits),
                                     rounding));
}

Expr sign_bit(ExprPool& pool, unsigned bits) {
  std::vector<uint64_t> words(words_of(bits));
  words[(bits - 1) / 64] = uint64_t{1} << ((bits - 1) % 64);
  return pool.constant(words, bits);
}

void float_sign(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  const bool copies = intrinsic_of(op) == llvm::Intrinsic::copysign;
  for (const Leaf& leaf : op.type->leaves) {
    const Expr sign = sign_bit(pool, leaf.bits);
    const Expr rest = pool.binary(ExprOp::bit_xor, sign, pool.sext(pool.constant(1, 1), leaf.bits));
    Expr out = pool.binary(ExprOp::bit_and, machine.expression(machine.get(op.a) + leaf.cell, leaf.bits), rest);
    if (copies)
      out = pool.binary(
          ExprOp::bit_or, out,
          pool.binary(ExprOp::bit_and, machine.expression(machine.get(op.b) + leaf.cell, leaf.bits), sign));
    machine.set(machine.cells(op.to) + leaf.cell, out);
  }
}

// minnum, maxnum: a NaN is ignored.
template <bool smaller>
void float_extreme(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  for (const Leaf& leaf : op.type->leaves) {
    const Expr a = machine.expression(machine.get(op.a) + leaf.cell, leaf.bits);
    const Expr b = machine.expression(machine.get(op.b) + leaf.cell, leaf.bits);
    const Expr first =
        smaller ? pool.floating(ExprOp::flt, leaf.format, a, b) : pool.floating(ExprOp::flt, leaf.format, b, a);
    const Expr a_is_nan = pool.floating(ExprOp::funordered, leaf.format, a, a);
    const Expr b_is_nan = pool.floating(ExprOp::funordered, leaf.format, b, b);
    machine.set(machine.cells(op.to) + leaf.cell,
                pool.ite(a_is_nan, b, pool.ite(pool.binary(ExprOp::bit_or, first, b_is_nan), a, b)));
  }
}

void float_function(SymbolicMachine& machine, const Op& op) {
  const llvm::StringRef name = llvm::Intrinsic::getBaseName(intrinsic_of(op)).drop_front(5);  // "llvm."
  for (const Leaf& leaf : op.type->leaves) {
    if (leaf.format != FloatFormat::twice && leaf.format != FloatFormat::single)
      return machine.set_unknown(op, fmt::format("the result of {}", name.str()));
    const std::string function = name.str() + (leaf.format == FloatFormat::single ? "f" : "");
    const bool two = llvm::cast<llvm::CallBase>(op.instruction)->arg_size() > 1;
    machine.set(
        machine.cells(op.to) + leaf.cell,
        machine.pool().call(function, leaf.bits, machine.expression(machine.get(op.a) + leaf.cell, leaf.bits),
                            two ? machine.expression(machine.get(op.b) + leaf.cell, leaf.bits) : Expr{}));
  }
}

// ---- memory

void copy_memory(SymbolicMachine& machine, const Op& op) {
  machine.copy(*machine.get(op.a), *machine.get(op.b), *machine.get(op.c), op);
}

void fill_memory(SymbolicMachine& machine, const Op& op) {
  machine.fill(*machine.get(op.a), *machine.get(op.b), *machine.get(op.c), op);
}

void thread_local_address(SymbolicMachine& machine, const Op& op) {
  const auto& call = *llvm::cast<llvm::CallBase>(op.instruction);
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
  if (variable == nullptr) return machine.set_unknown(op, "the address of a thread-local variable");
  machine.set(machine.cells(op.to), machine.thread_pointer + machine.code.image().offset_of(*variable));
}

void masked_pointer(SymbolicMachine& machine, const Op& op) {
  ExprPool& pool = machine.pool();
  machine.set(machine.cells(op.to), pool.binary(ExprOp::bit_and, machine.expression(machine.get(op.a), 64),
                                                machine.expression(machine.get(op.b), 64)));
}

// Compared with what landing pads give (ops_aggregate.cpp).
void type_number(SymbolicMachine& machine, const Op& op) {
  machine.cells(op.to)[0] = {0, machine.decided_by_path(op.to_bits)};
}

void constant_zero(SymbolicMachine& machine, const Op& op) {
  std::fill_n(machine.cells(op.to), op.type->cells, Cell{});
}

void object_size(SymbolicMachine& machine, const Op& op) {
  const bool least = machine.get(op.b)->bits != 0;
  machine.set(machine.cells(op.to), least ? 0 : low_bits(op.to_bits));
}

}  // namespace

OpAction intrinsic_action(const llvm::CallBase& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::donothing:
    case llvm::Intrinsic::prefetch:
    case llvm::Intrinsic::stackrestore:
    case llvm::Intrinsic::invariant_end:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
    case llvm::Intrinsic::sideeffect:
    case llvm::Intrinsic::var_annotation:
    case llvm::Intrinsic::vaend:
    case llvm::Intrinsic::x86_sse2_pause:
    case llvm::Intrinsic::trap:
    case llvm::Intrinsic::ubsantrap:
    case llvm::Intrinsic::debugtrap:
      return no_effect;
    case llvm::Intrinsic::invariant_start:
    case llvm::Intrinsic::is_constant:
      return constant_zero;
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::expect_with_probability:
    case llvm::Intrinsic::launder_invariant_group:
    case llvm::Intrinsic::strip_invariant_group:
    case llvm::Intrinsic::ssa_copy:
    case llvm::Intrinsic::arithmetic_fence:
    case llvm::Intrinsic::ptr_annotation:
    case llvm::Intrinsic::annotation:
      return same_value;
    case llvm::Intrinsic::objectsize:
      return object_size;
    case llvm::Intrinsic::ctpop:
      return unary<ExprOp::ctpop>;
    case llvm::Intrinsic::ctlz:
      return unary<ExprOp::ctlz>;
    case llvm::Intrinsic::cttz:
      return unary<ExprOp::cttz>;
    case llvm::Intrinsic::bswap:
      return unary<ExprOp::bswap>;
    case llvm::Intrinsic::bitreverse:
      return unary<ExprOp::bitreverse>;
    case llvm::Intrinsic::smin:
      return extreme<ExprOp::slt, true>;
    case llvm::Intrinsic::smax:
      return extreme<ExprOp::slt, false>;
    case llvm::Intrinsic::umin:
      return extreme<ExprOp::ult, true>;
    case llvm::Intrinsic::umax:
      return extreme<ExprOp::ult, false>;
    case llvm::Intrinsic::abs:
      return absolute;
    case llvm::Intrinsic::sadd_with_overflow:
      return with_overflow<ExprOp::add, true>;
    case llvm::Intrinsic::uadd_with_overflow:
      return with_overflow<ExprOp::add, false>;
    case llvm::Intrinsic::ssub_with_overflow:
      return with_overflow<ExprOp::sub, true>;
    case llvm::Intrinsic::usub_with_overflow:
      return with_overflow<ExprOp::sub, false>;
    case llvm::Intrinsic::smul_with_overflow:
      return with_overflow<ExprOp::mul, true>;
    case llvm::Intrinsic::umul_with_overflow:
      return with_overflow<ExprOp::mul, false>;
    case llvm::Intrinsic::sadd_sat:
      return saturated<ExprOp::add, true>;
    case llvm::Intrinsic::uadd_sat:
      return saturated<ExprOp::add, false>;
    case llvm::Intrinsic::ssub_sat:
      return saturated<ExprOp::sub, true>;
    case llvm::Intrinsic::usub_sat:
      return saturated<ExprOp::sub, false>;
    case llvm::Intrinsic::fshl:
      return funnel_shift<true>;
    case llvm::Intrinsic::fshr:
      return funnel_shift<false>;
    case llvm::Intrinsic::vector_reduce_add:
      return reduce<ExprOp::add>;
    case llvm::Intrinsic::vector_reduce_mul:
      return reduce<ExprOp::mul>;
    case llvm::Intrinsic::vector_reduce_and:
      return reduce<ExprOp::bit_and>;
    case llvm::Intrinsic::vector_reduce_or:
      return reduce<ExprOp::bit_or>;
    case llvm::Intrinsic::vector_reduce_xor:
      return reduce<ExprOp::bit_xor>;
    case llvm::Intrinsic::vector_reduce_smax:
      return reduce<ExprOp::add, ExprOp::slt, false>;
    case llvm::Intrinsic::vector_reduce_smin:
      return reduce<ExprOp::add, ExprOp::slt, true>;
    case llvm::Intrinsic::vector_reduce_umax:
      return reduce<ExprOp::add, ExprOp::ult, false>;
    case llvm::Intrinsic::vector_reduce_umin:
      return reduce<ExprOp::add, ExprOp::ult, true>;
    case llvm::Intrinsic::sqrt:
      return float_operation<ExprOp::fsqrt>;
    case llvm::Intrinsic::fma:
      return float_operation<ExprOp::fma>;
    case llvm::Intrinsic::fmuladd:
      return multiply_add;
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::copysign:
      return float_sign;
    case llvm::Intrinsic::floor:
      return round_float<FloatRounding::down>;
    case llvm::Intrinsic::ceil:
      return round_float<FloatRounding::up>;
    case llvm::Intrinsic::trunc:
      return round_float<FloatRounding::zero>;
    case llvm::Intrinsic::round:
      return round_float<FloatRounding::away>;
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven:
      return round_float<FloatRounding::even>;
    case llvm::Intrinsic::minnum:
      return float_extreme<true>;
    case llvm::Intrinsic::maxnum:
      return float_extreme<false>;
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::pow:
      return float_function;
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memcpy_inline:
    case llvm::Intrinsic::memmove:
      return copy_memory;
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::memset_inline:
      return fill_memory;
    case llvm::Intrinsic::threadlocal_address:
      return thread_local_address;
    case llvm::Intrinsic::ptrmask:
      return masked_pointer;
    case llvm::Intrinsic::eh_typeid_for:
      return type_number;
    case llvm::Intrinsic::vastart:
      return begin_variadic;
    case llvm::Intrinsic::vacopy:
      return copy_variadic;
    default:
      return nullptr;
  }
}

}  // namespace heddle
