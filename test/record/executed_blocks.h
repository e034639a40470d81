// The blocks that a thread executed, in order: threads/NAME.blocks, which the variants record-blocks* write
// (src/abi/record.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace heddle {

inline constexpr uint32_t kNoBlock = 0xffffffff;

struct ExecutedBlocks {
  std::vector<uint32_t> blocks;
  std::vector<uint64_t> lost;  // how many blocks there were when a signal handler came that did not come back
};

// Without the padding.
Result<ExecutedBlocks> read_executed_blocks(const std::filesystem::path& file);

}  // namespace heddle
