// Arguments that a function only looks at: it reads what they point to, itself or by functions that it calls,
// and neither writes there nor lets the pointer go anywhere else. Pointers that it finds there are not meant.
//
// A function may look at what lies before the place that it was given too: at the object around a member.
//
// Such a function may be called with what other threads reach and with what they do not, and mixes nothing up:
// comparing, hashing and copying of strings. (LLVM's attributes do not say so of functions in headers, which
// the linker might replace. In the canonical program it has done so already.)
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Argument.h>

#include "program/effects.h"

namespace heddle {

class OnlyRead {
 public:
  explicit OnlyRead(const EffectsTable& effects) : effects_(effects) {}

  bool only_read(const llvm::Argument& argument);
  // Of one that is only read: it is where the function steps back from.
  bool looks_back(const llvm::Argument& argument) const { return look_back_.contains(&argument); }

 private:
  bool follow(const llvm::Argument& argument);
  bool reads(const llvm::Argument& argument, const llvm::Use& use);
  bool call_reads(const llvm::Argument& argument, const llvm::Use& use);

  const EffectsTable& effects_;
  llvm::DenseMap<const llvm::Argument*, bool> known_;
  llvm::DenseSet<const llvm::Argument*> look_back_;
  unsigned depth_ = 0;
};

}  // namespace heddle
