// Which clang heddle works with: the one it was built with, unless HEDDLE_CC or HEDDLE_CXX names another.
#pragma once

#include <string>

namespace heddle {

enum class CompilerMode { c, cxx };

std::string clang_path(CompilerMode mode);

}  // namespace heddle
