// Memory byte by byte. A byte may be uncertain: what was written depends on something unknown
// (expression_values.h).
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

namespace heddle {

struct MemoryByte {
  uint8_t value = 0;
  bool certain = true;
  friend bool operator==(const MemoryByte&, const MemoryByte&) = default;
};

class ByteMemory {
 public:
  explicit ByteMemory(const std::map<uint64_t, uint8_t>& initial) {
    for (const auto& [address, value] : initial) set(address, {.value = value});
  }

  MemoryByte get(uint64_t address) const {
    const auto line = lines_.find(address / kLine);
    return line == lines_.end() ? MemoryByte{} : line->second.bytes[address % kLine];
  }
  void set(uint64_t address, MemoryByte byte) { lines_[address / kLine].bytes[address % kLine] = byte; }

 private:
  static constexpr uint64_t kLine = 32;
  struct Line {
    MemoryByte bytes[kLine];
  };
  std::unordered_map<uint64_t, Line> lines_;
};

}  // namespace heddle
