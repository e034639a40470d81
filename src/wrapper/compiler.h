// heddle cc and heddle c++: clang, plus the model (decision D1).
#pragma once

#include <string>
#include <vector>

#include "base/clang.h"
#include "base/result.h"

namespace heddle {

// Replaces this process by clang with what heddle adds; returns only when that fails.
Error run_compiler(CompilerMode mode, const std::vector<std::string>& args);

}  // namespace heddle
