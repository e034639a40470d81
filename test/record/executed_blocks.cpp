#include "executed_blocks.h"

#include <cstring>

#include "abi/record.h"
#include "base/files.h"

namespace heddle {

Result<ExecutedBlocks> read_executed_blocks(const std::filesystem::path& file) {
  const std::string bytes = HEDDLE_TRY(read_file(file));
  std::vector<uint32_t> entries(bytes.size() / sizeof(uint32_t));
  std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(uint32_t));
  while (!entries.empty() && entries.back() == kNoBlock) entries.pop_back();
  ExecutedBlocks out;
  for (const uint32_t entry : entries) {
    if (entry == HEDDLE_RECORD_BLOCK_LOST) {
      out.lost.push_back(out.blocks.size());
    } else {
      out.blocks.push_back(entry);
    }
  }
  return out;
}

}  // namespace heddle
