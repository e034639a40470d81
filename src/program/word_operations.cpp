#include "program/word_operations.h"

#include <llvm/ADT/APInt.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "base/result.h"

namespace heddle {
namespace {

constexpr unsigned kMaxBits = 64;

unsigned width_of(const llvm::Type& type, const llvm::DataLayout& layout) {
  return type.isPointerTy() ? layout.getPointerTypeSizeInBits(const_cast<llvm::Type*>(&type))
                            : type.getIntegerBitWidth();
}

uint64_t cut(uint64_t bits, unsigned width) {
  return width >= kMaxBits ? bits : bits & ((uint64_t{1} << width) - 1);
}

using Word = std::optional<uint64_t>;  // none: there is no result

Word word(const llvm::APInt& value) {
  return value.getZExtValue();
}
Word word(bool value) {
  return uint64_t{value};
}

// ---- getelementptr

bool fixed_layout(const llvm::GEPOperator& gep) {
  for (auto step = llvm::gep_type_begin(gep); step != llvm::gep_type_end(gep); ++step)
    if (!step.isStruct() && step.getIndexedType()->isScalableTy()) return false;
  return true;
}

// `indexes` are those that are not of structs.
uint64_t address(const llvm::GEPOperator& gep, uint64_t base, llvm::ArrayRef<uint64_t> indexes,
                 const llvm::DataLayout& layout) {
  uint64_t offset = 0;
  size_t next = 0;
  for (auto step = llvm::gep_type_begin(gep); step != llvm::gep_type_end(gep); ++step) {
    if (llvm::StructType* structure = step.getStructTypeOrNull()) {
      const auto field = llvm::cast<llvm::ConstantInt>(step.getOperand())->getZExtValue();
      offset += layout.getStructLayout(structure)->getElementOffset(static_cast<unsigned>(field));
    } else {
      const llvm::APInt index(width_of(*step.getOperand()->getType(), layout), indexes[next++]);
      offset +=
          static_cast<uint64_t>(index.getSExtValue()) * step.getSequentialElementStride(layout).getFixedValue();
    }
  }
  // Only as many bits as an index has are added; on all machines that run C++ programs these are all of the
  // pointer.
  return cut(base + offset, width_of(*gep.getType(), layout));
}

// ---- binary operators

Word shift(unsigned opcode, const llvm::APInt& a, const llvm::APInt& b) {
  if (b.uge(a.getBitWidth())) return std::nullopt;
  const auto amount = static_cast<unsigned>(b.getZExtValue());
  if (opcode == llvm::Instruction::Shl) return word(a.shl(amount));
  return word(opcode == llvm::Instruction::AShr ? a.ashr(amount) : a.lshr(amount));
}

Word divide(unsigned opcode, const llvm::APInt& a, const llvm::APInt& b) {
  const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  if (b.isZero() || (is_signed && a.isMinSignedValue() && b.isAllOnes())) return std::nullopt;
  switch (opcode) {
    case llvm::Instruction::SDiv:
      return word(a.sdiv(b));
    case llvm::Instruction::SRem:
      return word(a.srem(b));
    case llvm::Instruction::UDiv:
      return word(a.udiv(b));
    default:
      return word(a.urem(b));
  }
}

Word binary(unsigned opcode, const llvm::APInt& a, const llvm::APInt& b) {
  switch (opcode) {
    case llvm::Instruction::Add:
      return word(a + b);
    case llvm::Instruction::Sub:
      return word(a - b);
    case llvm::Instruction::Mul:
      return word(a * b);
    case llvm::Instruction::And:
      return word(a & b);
    case llvm::Instruction::Or:
      return word(a | b);
    case llvm::Instruction::Xor:
      return word(a ^ b);
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return shift(opcode, a, b);
    default:
      return divide(opcode, a, b);
  }
}

// ---- casts

bool is_word_cast(unsigned opcode) {
  switch (opcode) {
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::BitCast:
      return true;
    default:
      return false;
  }
}

llvm::APInt convert(unsigned opcode, const llvm::APInt& a, unsigned width) {
  return opcode == llvm::Instruction::SExt ? a.sext(width) : a.zextOrTrunc(width);
}

// ---- intrinsics

bool is_word_intrinsic(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::bswap:
    case llvm::Intrinsic::bitreverse:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::ssub_sat:
    case llvm::Intrinsic::ucmp:
    case llvm::Intrinsic::scmp:
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::expect_with_probability:
      return true;
    default:
      return false;
  }
}

// The two words a:b shifted left by `amount` modulo the width, high word (fshl); low word of a right shift is
// the same as the high word of the opposite left shift.
llvm::APInt funnel_left(const llvm::APInt& a, const llvm::APInt& b, unsigned amount) {
  return amount == 0 ? a : a.shl(amount) | b.lshr(a.getBitWidth() - amount);
}

Word three_way(bool less, bool equal, unsigned width) {
  return word(equal ? llvm::APInt(width, 0) : less ? llvm::APInt::getAllOnes(width) : llvm::APInt(width, 1));
}

Word intrinsic(const llvm::IntrinsicInst& call, llvm::ArrayRef<uint64_t> inputs) {
  const unsigned width = call.getArgOperand(0)->getType()->getIntegerBitWidth();
  const llvm::APInt a(width, inputs[0]);
  const auto b = [&] { return llvm::APInt(width, inputs[1]); };
  const auto count = [&](unsigned bits) { return word(llvm::APInt(width, bits)); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::umin:
      return word(llvm::APIntOps::umin(a, b()));
    case llvm::Intrinsic::umax:
      return word(llvm::APIntOps::umax(a, b()));
    case llvm::Intrinsic::smin:
      return word(llvm::APIntOps::smin(a, b()));
    case llvm::Intrinsic::smax:
      return word(llvm::APIntOps::smax(a, b()));
    case llvm::Intrinsic::abs:
      return word(a.abs());
    case llvm::Intrinsic::ctpop:
      return count(a.popcount());
    case llvm::Intrinsic::ctlz:
      return count(a.countl_zero());
    case llvm::Intrinsic::cttz:
      return count(a.countr_zero());
    case llvm::Intrinsic::bswap:
      return word(a.byteSwap());
    case llvm::Intrinsic::bitreverse:
      return word(a.reverseBits());
    case llvm::Intrinsic::fshl:
      return word(funnel_left(a, b(), static_cast<unsigned>(inputs[2] % width)));
    case llvm::Intrinsic::fshr: {
      const auto amount = static_cast<unsigned>(inputs[2] % width);
      return word(amount == 0 ? b() : funnel_left(a, b(), width - amount));
    }
    case llvm::Intrinsic::uadd_sat:
      return word(a.uadd_sat(b()));
    case llvm::Intrinsic::usub_sat:
      return word(a.usub_sat(b()));
    case llvm::Intrinsic::sadd_sat:
      return word(a.sadd_sat(b()));
    case llvm::Intrinsic::ssub_sat:
      return word(a.ssub_sat(b()));
    case llvm::Intrinsic::ucmp:
      return three_way(a.ult(b()), a == b(), call.getType()->getIntegerBitWidth());
    case llvm::Intrinsic::scmp:
      return three_way(a.slt(b()), a == b(), call.getType()->getIntegerBitWidth());
    default:
      return word(a);  // expect
  }
}

// The operation of a pair that this is a part of, or null.
const llvm::WithOverflowInst* overflow_pair(const llvm::ExtractValueInst& part) {
  return part.getNumIndices() == 1 ? llvm::dyn_cast<llvm::WithOverflowInst>(part.getAggregateOperand())
                                   : nullptr;
}

Word overflow_part(const llvm::ExtractValueInst& part, llvm::ArrayRef<uint64_t> inputs) {
  const llvm::WithOverflowInst& pair = *overflow_pair(part);
  const unsigned width = pair.getLHS()->getType()->getIntegerBitWidth();
  const llvm::APInt a(width, inputs[0]), b(width, inputs[1]);
  bool overflow = false;
  llvm::APInt result;
  switch (pair.getBinaryOp()) {
    case llvm::Instruction::Add:
      result = pair.isSigned() ? a.sadd_ov(b, overflow) : a.uadd_ov(b, overflow);
      break;
    case llvm::Instruction::Sub:
      result = pair.isSigned() ? a.ssub_ov(b, overflow) : a.usub_ov(b, overflow);
      break;
    default:
      result = pair.isSigned() ? a.smul_ov(b, overflow) : a.umul_ov(b, overflow);
      break;
  }
  return part.getIndices()[0] == 0 ? word(result) : word(overflow);
}

}  // namespace

bool is_word(const llvm::Type& type, const llvm::DataLayout& layout) {
  return (type.isIntegerTy() || type.isPointerTy()) && width_of(type, layout) <= kMaxBits;
}

uint64_t truncate_word(uint64_t bits, const llvm::Type& type, const llvm::DataLayout& layout) {
  return cut(bits, width_of(type, layout));
}

std::optional<uint64_t> constant_word(const llvm::Value& value, const llvm::DataLayout& layout) {
  if (!llvm::isa<llvm::Constant>(value) || !is_word(*value.getType(), layout)) return std::nullopt;
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&value)) return number->getZExtValue();
  if (llvm::isa<llvm::ConstantPointerNull>(value)) return 0;
  const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&value);
  if (expression == nullptr) return std::nullopt;
  if (expression->isCast()) {
    if (!is_word_cast(expression->getOpcode())) return std::nullopt;
    const std::optional<uint64_t> from = constant_word(*expression->getOperand(0), layout);
    return from ? std::optional(truncate_word(*from, *value.getType(), layout)) : std::nullopt;
  }
  const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(expression);
  if (gep == nullptr || !fixed_layout(*gep)) return std::nullopt;
  llvm::SmallVector<uint64_t, 4> words;
  for (const llvm::Use& operand : gep->operands()) {
    const std::optional<uint64_t> word = constant_word(*operand, layout);
    if (!word) return std::nullopt;
    words.push_back(*word);
  }
  llvm::SmallVector<uint64_t, 4> indexes;
  size_t next = 1;
  for (auto step = llvm::gep_type_begin(gep); step != llvm::gep_type_end(gep); ++step, ++next)
    if (!step.isStruct()) indexes.push_back(words[next]);
  return address(*gep, words[0], indexes, layout);
}

std::optional<WordInputs> word_inputs(const llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  if (!is_word(*instruction.getType(), layout)) return std::nullopt;
  WordInputs inputs;
  if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    if (!fixed_layout(llvm::cast<llvm::GEPOperator>(*gep))) return std::nullopt;
    inputs.push_back(gep->getPointerOperand());
    for (auto step = llvm::gep_type_begin(gep); step != llvm::gep_type_end(gep); ++step)
      if (!step.isStruct()) inputs.push_back(step.getOperand());
  } else if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    const llvm::WithOverflowInst* pair = overflow_pair(*part);
    if (pair == nullptr) return std::nullopt;
    inputs = {pair->getLHS(), pair->getRHS()};
  } else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    if (!is_word_intrinsic(call->getIntrinsicID())) return std::nullopt;
    // The last words of expect_with_probability and expect are hints.
    const bool hint = call->getIntrinsicID() == llvm::Intrinsic::expect ||
                      call->getIntrinsicID() == llvm::Intrinsic::expect_with_probability;
    for (const llvm::Use& argument : call->args())
      if (!hint || inputs.empty()) inputs.push_back(argument);
  } else if (llvm::isa<llvm::BinaryOperator, llvm::ICmpInst, llvm::SelectInst, llvm::FreezeInst>(instruction) ||
             (llvm::isa<llvm::CastInst>(instruction) && is_word_cast(instruction.getOpcode()))) {
    inputs.append(instruction.value_op_begin(), instruction.value_op_end());
  } else {
    return std::nullopt;
  }
  for (const llvm::Value* input : inputs)
    if (!is_word(*input->getType(), layout)) return std::nullopt;
  return inputs;
}

std::optional<uint64_t> compute_word(const llvm::Instruction& instruction, llvm::ArrayRef<uint64_t> inputs,
                                     const llvm::DataLayout& layout) {
  if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(&instruction))
    return address(*gep, inputs[0], inputs.drop_front(), layout);
  if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction))
    return overflow_part(*part, inputs);
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return intrinsic(*call, inputs);
  if (llvm::isa<llvm::SelectInst>(instruction)) return inputs[inputs[0] != 0 ? 1 : 2];
  if (llvm::isa<llvm::FreezeInst>(instruction)) return inputs[0];

  const unsigned width = width_of(*instruction.getOperand(0)->getType(), layout);
  const llvm::APInt a(width, inputs[0]);
  if (llvm::isa<llvm::CastInst>(instruction))
    return word(convert(instruction.getOpcode(), a, width_of(*instruction.getType(), layout)));
  const llvm::APInt b(width, inputs[1]);
  if (const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction))
    return word(llvm::ICmpInst::compare(a, b, comparison->getPredicate()));
  return binary(instruction.getOpcode(), a, b);
}

}  // namespace heddle
