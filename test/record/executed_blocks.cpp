#include "executed_blocks.h"

#include <cstring>

#include "base/files.h"

namespace heddle {

Result<std::vector<uint32_t>> read_executed_blocks(const std::filesystem::path& file) {
  const std::string bytes = HEDDLE_TRY(read_file(file));
  std::vector<uint32_t> blocks(bytes.size() / sizeof(uint32_t));
  std::memcpy(blocks.data(), bytes.data(), blocks.size() * sizeof(uint32_t));
  while (!blocks.empty() && blocks.back() == kNoBlock) blocks.pop_back();
  return blocks;
}

}  // namespace heddle
