// A recording as one compressed file, to send to a colleague: heddle pack and unpack.
//
// The file (numbers little-endian):
//   "heddlepk"                       magic
//   u32 version, u32 0
//   u64 size, u64 raw size           of the list, then the list: a zstd frame of JSON
//                                    {"files": [{"name": ..., "size": ..., "sha256": ...}, ...]}
//   for each file, in the order of the list, blocks until its size is reached:
//     u32 raw size, u32 size         1 to 4 MiB each but the last; size 0: zero bytes, which are a hole when
//     unpacked a zstd frame
// Nothing follows. Only one block is in memory at a time.
//
// Invariants: names are those that a recording has ("recording.json", "process", "effects.table", "flow",
// "threads/X", "inputs/X"), so
// nothing is ever written outside of the folder. What is unpacked is under another name until every checksum
// was right. Files are readable by their owner only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

struct ByteRange {
  uint64_t offset = 0, size = 0;
};

struct PackOptions {
  bool inputs = true;  // false: without environment and inputs/
  // Parts of files, by their names in the recording, that are replaced by zero bytes; ascending.
  std::map<std::string, std::vector<ByteRange>> blanked;
};

struct PackResult {
  uint64_t files = 0;
  uint64_t bytes = 0;         // of the recording
  uint64_t packed_bytes = 0;  // of the packed file
};

// Neither overwrites anything: the error says so.
Result<PackResult> pack_recording(const std::filesystem::path& folder, const std::filesystem::path& file,
                                  const PackOptions& options = {});
Result<PackResult> unpack_recording(const std::filesystem::path& file, const std::filesystem::path& folder);

// By its first bytes.
bool is_packed_recording(const std::filesystem::path& file);

// May a file of a recording have this name?
bool is_recording_file_name(std::string_view name);

}  // namespace heddle
