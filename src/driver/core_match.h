// Whether a controlled run fails as a core says: by kind, function and line, and where a line does not tell
// (code generation gives what it merges one of several lines) by the instruction. Functions of one name are
// told apart by what encloses them, where both sides know it, and by the lines where they begin.
//
// Controlled runs notice more: a freed block that is used, a lost wake-up. What the core has as a crash or a
// hang may show there as its cause, and earlier; it is taken for that if it is in a function that the core's
// failing thread was in (of a hang: any thread), or where the heap itself was found damaged. What resembles the
// failure less is `loose`: the search goes on for a while to find something better.
#pragma once

#include <set>

#include "driver/core_case.h"
#include "program/definition_lines.h"
#include "program/function_name.h"
#include "replay/executor.h"

namespace heddle {

enum class CoreMatch : uint8_t { none, loose, cause, same };
std::string_view text_of(CoreMatch match);

struct CoreFunction {
  FunctionName name;
  std::string file;
  unsigned begin = 0;  // line; 0: unknown
};

class CoreMatcher {
 public:
  CoreMatcher(const CoreCase& core, const CodeNames& names);
  CoreMatch match(const Execution& execution) const;

 private:
  bool same_function(const Failure& failure) const;
  bool same_place(const Execution& execution) const;
  CoreMatch match_hang(const Failure& failure) const;
  bool is_related(const Failure& failure) const;
  bool holds(const std::vector<CoreFunction>& functions, const StackFrame& frame) const;

  const CoreCase& core_;
  const CodeNames& names_;
  const DefinitionLines lines_;
  std::vector<CoreFunction> innermost_;  // at the failing instruction: its own, and those it was inlined into
  std::vector<CoreFunction> around_;     // all of the failing thread's stack; of a hang those of all threads
  std::set<std::string> waiting_;  // places where the threads stand
  bool heap_damaged_ = false;      // the C library says so
};

}  // namespace heddle
