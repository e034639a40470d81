// Promises that code makes about its values: no overflow (nsw, nuw), nothing lost (exact, disjoint, nneg,
// inbounds), never zero or in a range (flags of intrinsics, metadata of loads, attributes of arguments and
// results). Where one is broken the value is poison, and the compiler may go any way at a branch on it.
//
// A reader of a recording computes what known branches need (known_values.h), and must go the way the recorded
// program went. Programs break promises without harm and without notice (a random number generator on int that
// overflows); so the record variant makes none on the values that known branches need. Then arithmetic there
// wraps around by definition, for the compiler as for the reader, who works on the unchanged program and does
// not look at promises. What has no result even so (division by 0, shifts by the width or more) remains
// undefined.
//
// Values that the reader takes from the data stream may follow from others that are poison; whoever writes them
// freezes them first (src/instrument/record_calls.cpp), so that the program goes on with what was written.
#pragma once

#include <llvm/IR/Module.h>

#include "program/known_values.h"

namespace heddle {

// `known` is of this module. Takes nothing away from what is defined.
void drop_promises(llvm::Module& module, const KnownValues& known);

}  // namespace heddle
