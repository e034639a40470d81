// Classification of every call instruction of the program.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <string_view>

#include "program/effects.h"

namespace heddle {

enum class CallClass {
  inside,            // a function defined in the program
  indirect,          // through a pointer: inside or outside, decided at run time
  synchronisation,   // pthread, C11 threads, semaphores, futex, what libstdc++ calls
  allocation,        // malloc family, operator new and delete
  known_external,    // in the effects table
  unknown_external,  // outside, nothing known
  intrinsic,         // LLVM's own: no call at run time, or a memory intrinsic (see access.h)
  inline_assembly,
};
std::string_view call_class_name(CallClass c);
constexpr size_t kCallClasses = 8;

struct CallInfo {
  CallClass cls = CallClass::unknown_external;
  const llvm::Function* callee = nullptr;  // null for indirect calls and inline assembly
  const Effects* effects = nullptr;        // for synchronisation, allocation and known externals
};

// Looks through pointer casts and aliases. `syscall(SYS_futex, ...)` is synchronisation (kind futex) when the
// number is a constant; other constant numbers are looked up as "syscall:NUMBER", variable ones are unknown.
CallInfo classify_call(const llvm::CallBase& call, const EffectsTable& effects);

// Does a path segment end at this call (path_numbering.h)? Where code of the program may run before it returns,
// the callee's segments come next; where it may not return at all, the segment would be lost.
bool cuts_path(const CallInfo& call);

}  // namespace heddle
