// Durations as people write them on command lines: 500ms, 30s, 5m, 2h; 1m30s.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// "0.25 s", "12 s", "3 m 05 s", "2 h 10 m".
std::string duration_text(std::chrono::milliseconds time);

}  // namespace heddle
