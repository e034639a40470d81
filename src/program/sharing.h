// Which loads and stores may touch memory that another thread can reach (thread-escape analysis).
//
// Whole-program, flow- and context-insensitive, unification-based (Steensgaard, POPL 1996): every object and
// every value that may carry a pointer belongs to one class; each class has at most one class it points to.
// A class is reachable by other threads when it holds a global variable, was handed to a thread start, to an
// unknown external function or to a known one that keeps it, or is pointed to by such a class.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "program/access.h"
#include "program/effects.h"

namespace heddle {

struct SharingOptions {
  // Functions with external linkage may be called by code heddle cannot see (foreign objects in the link,
  // a shared library's users).
  bool foreign_callers = false;
};

struct SharingResult {
  std::vector<Access> accesses;              // all of them, in program order
  std::array<size_t, kSharings> counts{};    // by verdict
};

SharingResult analyse_sharing(const llvm::Module& module, const EffectsTable& effects, const SharingOptions& options);

}  // namespace heddle
