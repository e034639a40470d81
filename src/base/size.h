// Amounts of memory as people write them on command lines: 4096, 64K, 16M, 2G (powers of 1024).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

Result<uint64_t> parse_size(std::string_view text);

// "812 bytes", "1 byte", "1.5 KiB", "64.0 MiB".
std::string size_text(uint64_t bytes);

}  // namespace heddle
