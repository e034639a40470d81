// Names of functions as tools give them: "Queue::pop(bool)" by the linker's name, "pop" by line tables, which
// leave out what encloses a function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Without arguments of templates and functions.
struct FunctionName {
  std::vector<std::string> scope;  // namespaces, classes and functions around it, the outermost first
  std::string own;                 // "pop"
  bool whole = false;              // with parameters: the scope is all of it; otherwise there may be more

  static FunctionName of(std::string_view demangled);
};

// They may name one function: the same name, and what is known of the scopes does not differ.
bool may_be_same(const FunctionName& one, const FunctionName& other);

}  // namespace heddle
