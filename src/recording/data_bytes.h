// The bytes of a data stream: the chunks one after the other, without their heads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "recording/stream_chunk.h"

namespace heddle {

class DataBytes {
 public:
  explicit DataBytes(std::span<const StreamChunk> chunks) : chunks_(chunks) { find_end(); }

  bool at_end() const;
  uint64_t position() const;     // in the stream
  uint64_t file_offset() const;  // for reports
  // The stream held something that no writer writes.
  bool malformed() const { return malformed_; }

  // From here on the stream is read up to this position only, until resume().
  void pause_at(uint64_t position);
  void resume() { pause_at(UINT64_MAX); }

  // All of these answer none if the stream has not so much left, and are then at its end.
  std::optional<uint8_t> byte();
  std::optional<uint64_t> number(unsigned bytes);  // at most 8, little-endian
  std::optional<uint64_t> varint();
  // Valid until the next call.
  std::optional<std::string_view> bytes(uint64_t count);

 private:
  // Goes to the next chunk if this one is read; false at the end.
  bool have();
  void find_end();

  std::span<const StreamChunk> chunks_;
  size_t chunk_ = 0;
  uint64_t offset_ = 0;  // in the chunk
  uint64_t end_ = 0;     // of what may be read of the chunk
  uint64_t pause_ = UINT64_MAX;
  std::string joined_;  // bytes of several chunks
  bool malformed_ = false;
};

}  // namespace heddle
