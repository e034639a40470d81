// The engine `ordering`: decides from which write each read reads and what comes before what, with clause
// learning over a theory of order. Made for long traces with few threads.
//
// What it is made of: the moments and the order they have anyway (ordering_model.h), values
// (ordering_values.h), what follows from reads-from choices (ordering_theory.h), synchronisation
// (ordering_sync.h), and a total order at the end (ordering_sequence.h), which evaluate() judges.
//
// "impossible" is a proof, since all clauses follow from what an order means. It is never said where addresses
// depend on what was read, since the engine takes them for what was recorded; nor where a failure might be
// brought about by a part of a step. Then the answer is "undecided".
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_ordering_engine();

}  // namespace heddle
