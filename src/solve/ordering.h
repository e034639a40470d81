// The engine `ordering`: decides from which write each read reads and what comes before what, with clause
// learning over a theory of order. Made for long traces with few threads.
//
// What it is made of: searches for the cases of a problem (ordering_search.h); in each the moments and the
// order they have anyway (ordering_model.h), values (ordering_values.h), what follows from reads-from choices
// (ordering_theory.h), synchronisation (ordering_sync.h), and a total order at the end (ordering_sequence.h),
// which evaluate() judges.
//
// "impossible" is a proof, since all clauses follow from what an order means. Addresses that depend on what was
// read, and runs that end inside of a step, are cases that are searched one by one (address_cases.h,
// OrderingCase); where there are too many of them, the answer is "undecided".
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_ordering_engine();

}  // namespace heddle
