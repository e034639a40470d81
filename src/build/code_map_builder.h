// Makes the CodeMap of a binary without changing it: its embedded modules are compiled once more, with debug
// locations that number the instructions and with names that number the blocks. Neither changes what code is
// generated (D1); that the code is the same is checked function by function, but for what the linker fills in.
//
// The compiler says where its blocks begin in comments of its assembly, so that is what it is asked for; a
// label in each place survives into the object.
//
// Departs from H3 (section 6.3.2), which matches line numbers of the source: those are not exact.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "program/code_map.h"

namespace heddle {

// `program`: loaded from `binary`.
Result<CodeMap> build_code_map(const std::filesystem::path& binary, const Program& program);

}  // namespace heddle
