// Functions of the C library that compute from their arguments and from bytes that they are given: carried out
// by the host's own, on copies of the bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle {

// How many integer arguments (pointers included), and the function; its result is an integer or a pointer into
// the bytes of the first argument.
struct HostFunction {
  uint64_t (*call)(const uint64_t* arguments) = nullptr;
  unsigned arguments = 0;
};

// None: not one of these.
HostFunction find_host_function(std::string_view name);

}  // namespace heddle
