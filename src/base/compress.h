// zstd frames with a content checksum: a flipped bit is found when the frame is opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

std::string compress(std::string_view raw, int level = 3);

// Opens a frame that must hold exactly `raw_size` bytes. `raw_size` comes from the same untrusted file, so it
// is compared with the frame's own statement before memory is allocated.
Result<std::string> decompress(std::string_view frame, uint64_t raw_size);

}  // namespace heddle
