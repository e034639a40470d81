// Which variadic arguments of a printf are strings it reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

struct PrintfArgument {
  enum class Kind { number, string, wide_string };
  Kind kind = Kind::number;
  std::optional<uint64_t> precision;           // of a string: at most so many bytes
  std::optional<unsigned> precision_argument;  // the same, given by this variadic argument (from 0)
};

// In the order of the variadic arguments. Empty for formats that number their arguments (%1$s): rare, and then
// the strings are not seen.
std::vector<PrintfArgument> printf_arguments(std::string_view format);

}  // namespace heddle
