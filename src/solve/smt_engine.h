// The engine `smt`: CLAP's formula (smt_encoding.h) on an SMT solver. The reference for the other engines, not
// a fast one. Its answers have the fewest preemptions unless a limit ended the search for them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_smt_engine();

// The query that it asks, as an SMT-LIB file; with a bound, of orders with at most so many preemptions.
Result<std::string> smt_lib(const Problem& problem, std::optional<unsigned> most_preemptions = {});

}  // namespace heddle
