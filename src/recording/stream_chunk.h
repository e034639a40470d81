// A part of a stream of a log: what one chunk holds.
#pragma once

#include <cstdint>

namespace heddle {

struct StreamChunk {
  const char* bytes = nullptr;  // behind the head
  uint64_t size = 0;            // what is used of them
  uint64_t position = 0;        // in the stream, without heads
  uint64_t file_offset = 0;     // of `bytes`
  uint64_t sequence = 0;
  bool whole = true;  // else some of it is missing at the end
  uint64_t begin_tsc = 0, end_tsc = 0;
};

}  // namespace heddle
