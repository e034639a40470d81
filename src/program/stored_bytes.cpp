#include "program/stored_bytes.h"

#include <llvm/ADT/bit.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr unsigned kDeepest = 6;  // values looked through
constexpr unsigned kMostIncoming = 4;

// All bits of the value from this number on are 0. At most the width of its type, which is an integer's.
unsigned low_bits(const llvm::Value& value, unsigned depth);

unsigned low_bits_of_call(const llvm::CallBase& call, unsigned width, unsigned depth) {
  const auto argument = [&](unsigned i) { return low_bits(*call.getArgOperand(i), depth + 1); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::umin:
      return std::min(argument(0), argument(1));
    case llvm::Intrinsic::umax:
      return std::max(argument(0), argument(1));
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
      return static_cast<unsigned>(llvm::bit_width(width));
    default:
      return width;
  }
}

unsigned low_bits_of_phi(const llvm::PHINode& phi, unsigned width, unsigned depth) {
  if (phi.getNumIncomingValues() > kMostIncoming) return width;
  unsigned bits = 0;
  for (const llvm::Use& incoming : phi.incoming_values()) bits = std::max(bits, low_bits(*incoming, depth + 1));
  return bits;
}

unsigned low_bits_of(const llvm::Instruction& instruction, unsigned width, unsigned depth) {
  const auto operand = [&](unsigned i) { return low_bits(*instruction.getOperand(i), depth + 1); };
  const auto number = [&]() -> const llvm::ConstantInt* {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    return constant != nullptr && constant->getValue().getActiveBits() <= 64 ? constant : nullptr;
  };
  switch (instruction.getOpcode()) {
    case llvm::Instruction::And:
      return std::min(operand(0), operand(1));
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      return std::max(operand(0), operand(1));
    case llvm::Instruction::Add:
      return std::max(operand(0), operand(1)) + 1;
    case llvm::Instruction::Mul:
      return operand(0) + operand(1);
    case llvm::Instruction::URem: {
      const llvm::ConstantInt* divisor = number();
      const bool usable = divisor != nullptr && !divisor->isZero();
      return std::min(operand(0), usable ? (divisor->getValue() - 1).getActiveBits() : operand(1));
    }
    case llvm::Instruction::UDiv: {
      const llvm::ConstantInt* divisor = number();
      const unsigned bits = operand(0);
      return divisor == nullptr || divisor->isZero() ? bits
                                                     : bits - std::min(bits, divisor->getValue().logBase2());
    }
    case llvm::Instruction::LShr: {
      const unsigned bits = operand(0);
      return number() == nullptr ? bits : bits - static_cast<unsigned>(number()->getLimitedValue(bits));
    }
    case llvm::Instruction::Shl:
      return number() == nullptr ? width : operand(0) + static_cast<unsigned>(number()->getLimitedValue(width));
    case llvm::Instruction::ZExt:
    case llvm::Instruction::Trunc:
      return operand(0);
    case llvm::Instruction::Select:
      return std::max(operand(1), operand(2));
    case llvm::Instruction::PHI:
      return low_bits_of_phi(llvm::cast<llvm::PHINode>(instruction), width, depth);
    case llvm::Instruction::Call:
      return low_bits_of_call(llvm::cast<llvm::CallBase>(instruction), width, depth);
    default:
      return width;
  }
}

unsigned low_bits(const llvm::Value& value, unsigned depth) {
  const unsigned width = value.getType()->getIntegerBitWidth();
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value))
    return constant->getValue().getActiveBits();
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (instruction == nullptr || depth == kDeepest) return width;
  return std::min(width, low_bits_of(*instruction, width, depth));
}

unsigned bytes_for(unsigned bits) {
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

}  // namespace

unsigned stored_bytes(const llvm::Type& type) {
  if (type.isPointerTy()) return 8;
  const unsigned bits = static_cast<unsigned>(type.getScalarSizeInBits());
  const bool scalar = type.isIntegerTy() || type.isFloatTy() || type.isDoubleTy();
  return !scalar || bits == 0 || bits > 64 ? 0 : bytes_for(bits);
}

unsigned stored_bytes(const llvm::Instruction& instruction) {
  const unsigned bytes = stored_bytes(*instruction.getType());
  if (bytes == 0 || !instruction.getType()->isIntegerTy()) return bytes;
  return bytes_for(low_bits(instruction, 0));
}

}  // namespace heddle
