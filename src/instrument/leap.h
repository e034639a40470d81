// Variant "leap": the recorder that CLAP was compared with, as a baseline for measurements (abi/leap.h).
//
// LEAP names a location by what is known statically: a field of a class, for all objects. In C and C++ that is
// the class of objects that the pointer may lead to (points_to.h): a global variable, or what an allocation
// site made, with whatever else pointers mix it with. Accesses of the program's own instructions are recorded,
// and synchronisation calls as accesses to their objects, after the call; what library functions do to memory
// is not, as in LEAP.
#pragma once

#include "base/result.h"
#include "program/effects.h"
#include "program/program.h"

namespace heddle {

// Changes `module`, which was taken from `program`.
Result<void> instrument_leap(const Program& program, llvm::Module& module);
Result<void> instrument_leap(const Program& program, llvm::Module& module, const EffectsTable& effects);

}  // namespace heddle
