// The blocks that a thread executed, in order: threads/NAME.blocks, which the variants record-blocks* write
// (src/abi/record.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace heddle {

inline constexpr uint32_t kNoBlock = 0xffffffff;

// Without the padding.
Result<std::vector<uint32_t>> read_executed_blocks(const std::filesystem::path& file);

}  // namespace heddle
