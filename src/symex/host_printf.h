// sprintf and its kin, carried out by the host on concrete arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct HostArgument {
  bool real = false;  // a double
  uint64_t bits = 0;
};

// What the format makes of the arguments; none if it has conversions that are not done here (%n, wide strings,
// long doubles), or an argument is missing. `string_at` gives the bytes of a string, up to a limit.
std::optional<std::string> format_on_host(
    const std::string& format, const std::vector<HostArgument>& arguments,
    const std::function<std::optional<std::string>(uint64_t address, uint64_t limit)>& string_at);

}  // namespace heddle
