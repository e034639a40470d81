// Which block does a thread release, where the recording does not hold the pointer (policy paths)? It was read
// from memory: if all that is ever written there is one block, and null, it is that one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "trace/trace.h"

namespace heddle {

// By the address of 8 bytes: all values that they ever have. An address that is missing is not known.
using WrittenPointers = std::map<uint64_t, std::set<uint64_t>>;

// `initial` gives what the program began with.
WrittenPointers written_pointers(std::span<const ThreadTrace* const> threads,
                                 const std::function<uint64_t(uint64_t)>& initial);

}  // namespace heddle
