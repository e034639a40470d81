// The bits of a path stream in the order they were written. Repeated words are expanded while they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "recording/stream_chunk.h"

namespace heddle {

class PathBits {
 public:
  // Chunks of whole words, without the zeros behind the last.
  explicit PathBits(std::span<const StreamChunk> chunks) : chunks_(chunks) {}

  // The next `count` <= 64 bits, the first of them as the highest; none if the stream has fewer left.
  std::optional<uint64_t> read(unsigned count);
  // Zeros up to the next one, which is read too unless the stream ends before it comes.
  struct Zeros {
    uint64_t count = 0;
    bool ended = false;  // by a one
  };
  Zeros read_zeros();

  bool at_end();

  // From here on the stream is read up to this place only, until resume(): behind so many words, repetitions
  // counted, and as many bits of the next one as `word` has. At a place that is passed already it ends at once.
  void pause_at(uint64_t words, uint64_t word);
  void resume();

  // Of the word that the next bit is in, or of the last one: for reports.
  uint64_t file_offset() const;
  // The stream ended at something that no writer writes.
  bool malformed() const { return malformed_; }

 private:
  std::optional<uint64_t> next_raw();
  bool next_word();
  void hide();
  unsigned width() const;

  std::span<const StreamChunk> chunks_;
  size_t chunk_ = 0;
  uint64_t offset_ = 0;  // in the chunk: of the next word
  uint64_t word_ = 0;    // the present one
  unsigned left_ = 0;    // its bits that are not read yet
  unsigned hidden_ = 0;  // those of them that are behind the pause
  uint64_t begun_ = 0;   // words, with the present one
  uint64_t pause_words_ = UINT64_MAX;
  unsigned pause_bits_ = 0;
  uint64_t repeats_ = 0;  // how often it comes again
  bool malformed_ = false;
};

}  // namespace heddle
