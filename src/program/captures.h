// Whether the address of an object outlives the calls it is passed to, or goes anywhere but into calls.
//
// llvm::PointerMayBeCaptured believes attributes only, which functions of libraries and functions that pass the
// pointer on to them do not have. Here a call does not capture its argument if the effects table says that the
// library keeps nothing of it, or if the function of the program that is called does not capture it either (a
// few calls deep).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstrTypes.h>

#include "program/effects.h"

namespace heddle {

// A call of a function outside the program, or what it starts, may still know this argument afterwards, or hand
// it on.
bool keeps(const llvm::CallBase& call, unsigned argument, const Effects& effects);

class Captures {
 public:
  explicit Captures(const EffectsTable& effects) : effects_(effects) {}

  // `pointer`: an alloca, an allocating call, or an argument. True when it cannot be said.
  bool captured(const llvm::Value& pointer);

 private:
  class Tracker;
  bool captured_by_call(const llvm::Use& use);

  const EffectsTable& effects_;
  llvm::DenseMap<const llvm::Value*, bool> captured_;
  unsigned depth_ = 0;
};

}  // namespace heddle
