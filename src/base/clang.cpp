#include "base/clang.h"

#include <cstdlib>

#include "base/version.h"

namespace heddle {

std::string clang_path(CompilerMode mode) {
  const char* chosen = std::getenv(mode == CompilerMode::cxx ? "HEDDLE_CXX" : "HEDDLE_CC");
  if (chosen != nullptr && chosen[0] != '\0') return chosen;
  return mode == CompilerMode::cxx ? HEDDLE_CLANGXX : HEDDLE_CLANG;
}

}  // namespace heddle
