// The store buffer of one thread under TSO and PSO (dissertation section 3.2.1), as
// src/runtime/control/buffers.c has it.
//
// TSO: stores become visible oldest first. PSO: a store may overtake older ones, unless they overlap, or a
// release comes between: a release store waits for everything older, and everything younger than a release
// fence for everything older than that. For equal addresses this is a buffer per address; with mixed sizes, no
// byte ends with the older value.
//
// In either model the stores to one byte become visible in their order, so they are a queue per byte: what is
// to be read is its end, and no operation looks at more than the bytes it is about (and the oldest store).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.h"
#include "trace/byte_memory.h"

namespace heddle {

class StoreBuffer {
 public:
  bool empty() const { return stores_.empty(); }
  // requires: events are added in program order
  void add(uint32_t event, uint64_t address, std::span<const MemoryByte> bytes, bool release);
  void release_fence();
  bool may_flush(uint32_t event, MemoryModel model) const;
  void flush(uint32_t event, ByteMemory& memory);  // requires: may_flush()
  const MemoryByte* find(uint64_t address) const;  // the youngest store's; null if there is none

 private:
  struct Store {
    uint64_t address;
    uint32_t size;
    uint32_t barrier;  // waits for stores of events before this one
  };
  struct Buffered {
    uint32_t event;
    MemoryByte byte;
  };

  std::map<uint32_t, Store> stores_;                           // by event: the oldest first
  std::unordered_map<uint64_t, std::vector<Buffered>> bytes_;  // the oldest first
  uint32_t barrier_ = 0;
};

}  // namespace heddle
