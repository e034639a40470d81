// One thread's log (src/abi/record.h) as two streams of chunks.
//
// Nothing in the file is trusted. A log that is damaged in part is still a LogFile: damage() says what is wrong
// and where, and the streams hold what lies before the first missing chunk, since nothing behind a gap can be
// followed. A thread that was stopped while it made its log, or a chunk of it, leaves zeros: that is no damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "recording/data_bytes.h"
#include "recording/path_bits.h"

namespace heddle {

struct Damage {
  std::string file;
  uint64_t offset = 0;
  std::string what;

  std::string text() const;  // "FILE, offset N: WHAT"
};

class LogFile {
 public:
  // An error if the file cannot be read or is no log of this format.
  static Result<LogFile> open(const std::filesystem::path& path);
  // `bytes` as the content of a file of this name.
  static Result<LogFile> from_bytes(std::string file, std::string bytes);

  const std::string& file() const { return file_; }
  // magic is 0 if the thread was stopped before it had written it.
  const heddle_record_log& head() const { return head_; }
  std::string thread() const;  // "0.1"
  // What the first stamp of the data counts from.
  uint64_t first_stamp() const { return head_.sync_order != 0 ? 0 : head_.begin_tsc; }
  bool has_clock() const { return !data_.chunks.empty() && data_.chunks.front().begin_tsc != 0; }

  const std::vector<Damage>& damage() const { return damage_; }
  // The first chunks are gone (record --keep, or damage), so nobody knows where in the program the log begins.
  bool begins_late() const;

  struct Stream {
    std::vector<StreamChunk> chunks;  // without a gap
    uint64_t bytes = 0;               // in all, without heads
    bool broken = false;              // something is missing behind them
  };
  const Stream& path_stream() const { return path_; }
  const Stream& data_stream() const { return data_; }
  // What heddle_record_log::seal of a complete log is to be. Not 0.
  uint64_t seal() const;
  // Readers from the beginning; this object must stay where it is meanwhile.
  PathBits path() const { return PathBits(path_.chunks); }
  DataBytes data() const { return DataBytes(data_.chunks); }

 private:
  LogFile(std::string file, std::shared_ptr<const char> bytes, uint64_t size);
  Result<void> read_head();
  void find_chunks();
  uint64_t take_chunk(uint64_t offset);
  void put_in_order(Stream& stream, std::string_view name);
  void report(uint64_t offset, std::string what);

  std::string file_;
  std::shared_ptr<const char> bytes_;
  uint64_t size_;
  heddle_record_log head_{};
  Stream path_, data_;
  std::vector<Damage> damage_;
  std::vector<std::pair<uint64_t, uint64_t>> summed_;  // offsets, from to: what checksums of chunks cover
};

// Writes its seal into the log: from now on no change of it goes unnoticed.
Result<void> seal_log(const std::filesystem::path& path);

}  // namespace heddle
