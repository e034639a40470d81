// The symbolic trace of a recording: everything that src/symex needs, out of the recording's folder.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "symex/symbolic_trace.h"

namespace heddle {

// `program`: the executable; empty: where it was.
Result<Trace> trace_of_recording(const std::filesystem::path& folder, const std::filesystem::path& program,
                                 const SymbolicOptions& options, SymbolicStatistics& statistics);

}  // namespace heddle
