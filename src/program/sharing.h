// Which loads and stores may touch memory that another thread can reach (thread-escape analysis).
//
// Whole-program, flow- and context-insensitive, unification-based (Steensgaard, POPL 1996): every object and
// every value that may carry a pointer belongs to one class; each class has at most one class it points to.
// A class is reachable by other threads when it holds a global variable, was handed to a thread start, to an
// unknown external function or to a known one that keeps it, or is pointed to by such a class. Everything else
// is private, for the whole run: the analysis does not say "not yet shared".
//
// Cost: nearly linear, about a million instructions per second. Assumptions: on top of pointer_flow.h.
// Precision: a function called with shared and with private objects makes the latter's class shared (one class
// for both), unless it only reads them, or the object's address provably stays in its own function.
// Oracle: test/model/sharing_oracle runs random programs and looks for private accesses that meet.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Argument.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <array>
#include <vector>

#include "program/access.h"
#include "program/effects.h"

namespace heddle {

struct SharingOptions {
  // Functions and variables with external linkage may be used by code heddle cannot see (foreign objects in the
  // link, a shared library's users).
  bool foreign_callers = false;
};

// What a call does to memory behind one of its pointer arguments outside the program's own instructions: an
// effect of a known library function, or the copy that is made of an argument passed by value.
struct ArgumentAccess {
  const llvm::CallBase* call = nullptr;
  unsigned argument = 0;
  const MemoryEffect* effect = nullptr;  // in the effects table; null: passed by value, so read
  Sharing sharing = Sharing::shared;     // where the effect reaches further than the object: the worst verdict
  bool foreign = false;                  // may be memory of the library itself
  bool lent = false;                     // as in Access
  uint32_t memory = 0;                   // as in Access
};

struct SharingResult {
  std::vector<Access> accesses;                   // all of them, in program order
  std::array<size_t, kSharings> counts{};         // of these, by verdict
  std::vector<ArgumentAccess> argument_accesses;  // in program order
  // Memory of a function's frame that calls of it fill, as in Access: copies of what is passed by value, and
  // the variadic arguments.
  llvm::DenseMap<const llvm::Argument*, uint32_t> by_value;
  llvm::DenseMap<const llvm::Function*, uint32_t> variadic;
  // Calls that give the program new memory which no other thread reaches, so that accesses to it are private;
  // of functions of the program too that hand on what they allocate.
  llvm::DenseSet<const llvm::CallBase*> private_allocations;
};

// Functions whose code comes from elsewhere (available_externally) have no accesses here.
SharingResult analyse_sharing(const llvm::Module& module, const EffectsTable& effects,
                              const SharingOptions& options);

}  // namespace heddle
