// The entries of a data stream, typed: one struct for each tag of abi/record.h, and the reader of them, which
// keeps what entries refer to (the table of references, the last stamp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "abi/record.h"
#include "abi/sync_kind.h"
#include "recording/data_bytes.h"

namespace heddle {

struct TwiceEntry {
  uint32_t call = 0;
  uint64_t returns = 0;   // before this one
  uint64_t distance = 0;  // back to the entry of the first; 0 for that
  uint32_t result = 0;
};

struct SyncEntry {
  heddle_sync_kind kind = HEDDLE_SYNC_none;
  unsigned objects = 0;
  std::array<uint64_t, 3> object{};
  std::optional<uint64_t> tsc;  // if the kind releases; else the return has it
};

struct SignalEntry {
  uint64_t signal = 0, pc = 0;
  // Where the interrupted log was: words of its path and what the next word held then, its state, and its data.
  uint64_t path_words = 0, word = 0, pending_path = 0, data_bytes = 0;
};

struct ReturnedEntry {
  std::optional<uint64_t> error;  // errno
  std::optional<uint64_t> tsc;
  std::optional<uint64_t> result;  // zero-extended
};

// What a call wrote: the bytes, valid until the next is read, or where they are kept.
struct WrittenBytes {
  uint64_t count = 0;
  uint64_t position = 0;  // of the bytes in the data stream
  std::string_view bytes;
  std::optional<uint64_t> file;  // of heddle_record_process
  uint64_t file_offset = 0;
};

class EntryReader {
 public:
  // `first_tsc`: heddle_record_log::begin_tsc, from which the first stamp counts.
  EntryReader(DataBytes data, bool has_clock, uint64_t first_tsc)
      : data_(data), has_clock_(has_clock), tsc_(first_tsc) {}

  DataBytes& data() { return data_; }
  const DataBytes& data() const { return data_; }

  std::optional<uint8_t> tag() { return data_.byte(); }

  // The payload behind a tag. None if the stream ends before, or it cannot be so.
  std::optional<uint32_t> enter() { return id(); }
  std::optional<uint32_t> landed() { return id(); }
  std::optional<TwiceEntry> twice();
  std::optional<uint64_t> foreign() { return reference(); }
  // `kind`: the tag without HEDDLE_RECORD_sync.
  std::optional<SyncEntry> sync(uint8_t kind);
  std::optional<uint64_t> child() { return data_.varint(); }
  std::optional<SignalEntry> signal();
  // `flags`: the tag without HEDDLE_RECORD_returned; `result_bytes` as the plan says.
  std::optional<ReturnedEntry> returned(unsigned flags, unsigned result_bytes);
  // `tag` is HEDDLE_RECORD_bytes or HEDDLE_RECORD_file_bytes.
  std::optional<WrittenBytes> written(uint8_t tag);

  // Goes on behind a pause (DataBytes::pause_at).
  void resume() {
    data_.resume();
    cut_bytes_.reset();
  }

  // How much of the stream was read; less than all also where it ends within the bytes of a call.
  uint64_t position() const { return cut_bytes_.value_or(data_.position()); }

 private:
  std::optional<uint32_t> id();
  std::optional<uint64_t> reference();
  std::optional<uint64_t> stamp();

  DataBytes data_;
  std::optional<uint64_t> cut_bytes_;  // where those begin of which some are missing
  bool has_clock_;
  uint64_t tsc_;
  std::array<uint64_t, 255> references_{};
};

// How many objects a kind has (abi/sync_kind.h); none for numbers that are no kind.
std::optional<unsigned> sync_objects(uint8_t kind);

}  // namespace heddle
