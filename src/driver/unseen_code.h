// Functions that the program uses and of which heddle has neither a model nor a description: what they do to
// memory of their own, nobody sees. For whoever says something about all interleavings.
#pragma once

#include <string>
#include <vector>

#include "program/effects.h"
#include "program/program.h"

namespace heddle {

struct UnseenFunction {
  std::string name;   // for people
  std::string place;  // of its first use; empty: not known
};

struct UnseenCode {
  std::vector<UnseenFunction>
      own;  // of the program: foreign objects, shared libraries outside the system's folders
  std::vector<UnseenFunction> systems;  // of the system's libraries, but for those of C and C++
};

UnseenCode unseen_code(const Program& program, const EffectsTable& effects);

}  // namespace heddle
