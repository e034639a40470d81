// Where the symbol table of an executable is: in itself, or in a separate file (objcopy --only-keep-debug).
#pragma once

#include <filesystem>

#include "base/result.h"

namespace heddle {

// The executable itself if it has its symbols; else the debug file with its build id: beside it or in .debug by
// the name in its .gnu_debuglink, in the system's folder of debug files by the same or by build id. `given` is
// taken instead of all of them, unless empty. An error names what was looked at, or both build ids.
Result<std::filesystem::path> file_with_symbols(const std::filesystem::path& executable,
                                                const std::filesystem::path& given = {});

}  // namespace heddle
