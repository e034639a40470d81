#include "solve/engine.h"

namespace heddle {

std::string_view text_of(SolveVerdict verdict) {
  switch (verdict) {
    case SolveVerdict::found:
      return "found";
    case SolveVerdict::impossible:
      return "impossible";
    case SolveVerdict::undecided:
      return "undecided";
  }
  return "";
}

}  // namespace heddle
