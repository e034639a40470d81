// zstd frames with a content checksum: a flipped bit is found when the frame is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

std::string compress(std::string_view raw, int level = 3);

// Opens a frame that must hold exactly `raw_size` bytes. `raw_size` comes from the same untrusted file, so it
// is compared with the frame's own statement before memory is allocated.
Result<std::string> decompress(std::string_view frame, uint64_t raw_size);

// Opens a stream that comes in pieces, such as perf writes. A piece that gives more than 64 MiB is refused.
class StreamDecompressor {
 public:
  StreamDecompressor();
  ~StreamDecompressor();
  Result<std::string> append(std::string_view piece);  // what can be opened so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Unpacks a whole file, from its start, into one without a name; returns its descriptor. Of a file that was cut
// off, what is there. `name` is for messages.
Result<int> decompress_to_file(int from, const std::string& name);

}  // namespace heddle
