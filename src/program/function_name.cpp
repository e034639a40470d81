#include "program/function_name.h"

#include <algorithm>

namespace heddle {
namespace {

// Behind the bracket that matches the one at `begin`.
size_t behind_brackets(std::string_view name, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < name.size(); ++i) {
    if (name.substr(i).starts_with("->")) {
      ++i;  // of a decltype
      continue;
    }
    if (name[i] == '(' || name[i] == '<' || name[i] == '[') ++depth;
    if ((name[i] == ')' || name[i] == '>' || name[i] == ']') && --depth == 0) return i + 1;
  }
  return name.size();
}

}  // namespace

FunctionName FunctionName::of(std::string_view demangled) {
  constexpr std::string_view kOperator = "operator";
  FunctionName out;
  for (size_t i = 0; i < demangled.size();) {
    const std::string_view rest = demangled.substr(i);
    if (rest.starts_with("::")) {
      out.scope.push_back(std::move(out.own));
      out.own.clear();
      out.whole = false;
      i += 2;
    } else if (out.own.empty() && rest.starts_with(kOperator)) {
      // operator<, operator(), operator new[], operator bool: up to its parameters.
      const size_t end = rest.find('(', kOperator.size() + (rest.starts_with("operator()") ? 2 : 0));
      out.own = rest.substr(0, end);
      i += std::min(end, rest.size());
    } else if (rest.starts_with("(anonymous namespace)")) {
      out.own = "(anonymous namespace)";
      i += out.own.size();
    } else if (rest[0] == '(') {  // parameters: of the function, or of one that encloses it
      out.whole = true;
      i = behind_brackets(demangled, i);
      const size_t next = demangled.find("::", i);
      if (next == std::string_view::npos) break;
      i = next;
    } else if (rest[0] == '<' || rest[0] == '[') {
      i = behind_brackets(demangled, i);
    } else if (rest[0] == ' ') {  // behind the type that a template's function returns
      out = {};
      ++i;
    } else {
      out.own += rest[0];
      ++i;
    }
  }
  return out;
}

bool may_be_same(const FunctionName& one, const FunctionName& other) {
  if (one.own != other.own) return false;
  if (one.whole && other.whole) return one.scope == other.scope;
  const size_t known = std::min(one.scope.size(), other.scope.size());
  return std::equal(one.scope.rbegin(), one.scope.rbegin() + static_cast<ptrdiff_t>(known),
                    other.scope.rbegin());
}

}  // namespace heddle
