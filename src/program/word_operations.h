// Arithmetic on words: integers and pointers of at most 64 bits. What a reader of a recording can compute
// (known_values.h) is computed here, operation by operation; adding an operation touches only this file and its
// source.
//
// A word is held in the low bits of a uint64_t, the others are 0.
//
// What instructions promise (nsw, nuw, exact, disjoint, nneg, inbounds, "zero is poison") is not looked at:
// arithmetic wraps around, as it does in the recorded program (promises.h).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instruction.h>

#include <cstdint>
#include <optional>

namespace heddle {

bool is_word(const llvm::Type& type, const llvm::DataLayout& layout);
uint64_t truncate_word(uint64_t bits, const llvm::Type& type, const llvm::DataLayout& layout);

// Integers, null, and casts and getelementptr of these; none for other constants (undef, poison, addresses) and
// for values that are no constants.
std::optional<uint64_t> constant_word(const llvm::Value& value, const llvm::DataLayout& layout);

// The words that the instruction's result follows from, in the order compute_word() takes them; none if the
// instruction is no operation on words. The results of llvm.*.with.overflow are pairs, so not they but the
// extractvalue of a part is the operation. Phis are not: which input counts is a matter of the path.
using WordInputs = llvm::SmallVector<const llvm::Value*, 4>;
std::optional<WordInputs> word_inputs(const llvm::Instruction& instruction, const llvm::DataLayout& layout);

// None where there is no result: shift by the width or more, division by 0, division that overflows.
std::optional<uint64_t> compute_word(const llvm::Instruction& instruction, llvm::ArrayRef<uint64_t> inputs,
                                     const llvm::DataLayout& layout);

}  // namespace heddle
