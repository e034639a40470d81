// How many bytes a value takes in the data stream of a recording: 1, 2, 4 or 8, little-endian; the reader fills
// up with zeros.
//
// A value may take fewer bytes than its type where the form of the code says that the upper bits are 0: what is
// masked, a remainder, a comparison. Promises of the code (nuw, ranges of loads) are not believed: a program
// may break them, and what it then goes on with must be in the log.
#pragma once

#include <llvm/IR/Instruction.h>

namespace heddle {

// Smaller integers take the next larger size; 0 for what is not kept: nothing, vectors, structures, wide
// numbers.
unsigned stored_bytes(const llvm::Type& type);

// Of the result of this instruction: at most those of its type.
unsigned stored_bytes(const llvm::Instruction& instruction);

}  // namespace heddle
