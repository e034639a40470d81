// Whether an index into bytes leads back, as far as can be seen: to what lies before the pointer that it is
// added to. Most indices into bytes are positions in text and buffers, and lead forward; so that is what is
// believed of an index of which nothing is known.
//
// Seen are negated numbers, however the optimiser has written them down (x * -24, -8 - x), constants, distances
// out of the table of a class, and all that is chosen among these, or given by a caller, local variables
// included. Between -1 and -7 a constant is not taken for a step: it leads to no other pointer, and -1 stands
// for "not found".
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/Value.h>

namespace heddle {

bool leads_back(const llvm::Value& index);
// The step has variable indices, and may lead back. Indices into other things than bytes may, unless they are
// known not to be negative.
bool may_lead_back(const llvm::GEPOperator& step, const llvm::DataLayout& layout);
// Any step, constant ones too.
bool steps_back(const llvm::GEPOperator& step, const llvm::DataLayout& layout);

}  // namespace heddle
