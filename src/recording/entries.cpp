#include "recording/entries.h"

namespace heddle {
namespace {

constexpr unsigned kSyncObjects[] = {0,
#define HEDDLE_SYNC_OBJECTS(name, objects) objects,
                                     HEDDLE_SYNC_KINDS(HEDDLE_SYNC_OBJECTS)
#undef HEDDLE_SYNC_OBJECTS
};
static_assert(std::size(kSyncObjects) == HEDDLE_SYNC_count);

}  // namespace

std::optional<unsigned> sync_objects(uint8_t kind) {
  if (kind == HEDDLE_SYNC_none || kind >= HEDDLE_SYNC_count) return std::nullopt;
  return kSyncObjects[kind];
}

std::optional<uint32_t> EntryReader::id() {
  const std::optional<uint64_t> id = data_.varint();
  if (!id || *id > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*id);
}

std::optional<uint64_t> EntryReader::reference() {
  const std::optional<uint8_t> place = data_.byte();
  if (!place) return std::nullopt;
  if (*place < references_.size()) return references_[*place];
  const std::optional<uint64_t> address = data_.number(8);
  if (address) references_[(*address >> 3) % references_.size()] = *address;
  return address;
}

std::optional<uint64_t> EntryReader::stamp() {
  const std::optional<uint64_t> units = data_.varint();
  if (!units) return std::nullopt;
  return tsc_ += *units * HEDDLE_RECORD_STAMP_UNIT;
}

std::optional<TwiceEntry> EntryReader::twice() {
  TwiceEntry entry;
  const std::optional<uint32_t> call = id();
  if (!call) return std::nullopt;
  const std::optional<uint64_t> returns = data_.varint();
  if (!returns) return std::nullopt;
  if (*returns != 0) {
    const std::optional<uint64_t> distance = data_.varint();
    if (!distance) return std::nullopt;
    entry.distance = *distance;
  }
  const std::optional<uint64_t> result = data_.number(4);
  if (!result) return std::nullopt;
  entry.call = *call;
  entry.returns = *returns;
  entry.result = static_cast<uint32_t>(*result);
  return entry;
}

std::optional<SyncEntry> EntryReader::sync(uint8_t kind) {
  SyncEntry entry;
  const std::optional<unsigned> objects = sync_objects(kind);
  if (!objects) return std::nullopt;
  entry.kind = static_cast<heddle_sync_kind>(kind);
  entry.objects = *objects;
  for (unsigned i = 0; i < *objects; ++i) {
    const std::optional<uint64_t> object = reference();
    if (!object) return std::nullopt;
    entry.object[i] = *object;
  }
  if (!has_clock_ || !heddle_sync_releases(kind)) return entry;
  entry.tsc = stamp();
  if (!entry.tsc) return std::nullopt;
  return entry;
}

std::optional<SignalEntry> EntryReader::signal() {
  const std::optional<uint64_t> signal = data_.varint(), pc = data_.number(8), path_words = data_.varint(),
                                word = data_.number(8), path = data_.varint(), data_bytes = data_.varint();
  if (!signal || !pc || !path_words || !word || !path || !data_bytes) return std::nullopt;
  return SignalEntry{.signal = *signal,
                     .pc = *pc,
                     .path_words = *path_words,
                     .word = *word,
                     .pending_path = *path,
                     .data_bytes = *data_bytes};
}

std::optional<ReturnedEntry> EntryReader::returned(unsigned flags, unsigned result_bytes) {
  ReturnedEntry entry;
  if ((flags & HEDDLE_RECORD_returned_errno) != 0) {
    entry.error = data_.varint();
    if (!entry.error) return std::nullopt;
  }
  if ((flags & HEDDLE_RECORD_returned_stamp) != 0) {
    entry.tsc = stamp();
    if (!entry.tsc) return std::nullopt;
  }
  if (result_bytes == 0) return entry;
  entry.result = (flags & HEDDLE_RECORD_returned_zero) != 0 ? 0 : data_.number(result_bytes);
  if (!entry.result) return std::nullopt;
  return entry;
}

std::optional<WrittenBytes> EntryReader::written(uint8_t tag) {
  WrittenBytes out;
  if (tag == HEDDLE_RECORD_file_bytes) {
    const std::optional<uint64_t> file = data_.varint(), offset = data_.varint(), count = data_.varint();
    if (!file || !offset || !count) return std::nullopt;
    out.file = file;
    out.file_offset = *offset;
    out.count = *count;
    return out;
  }
  const std::optional<uint64_t> count = data_.varint();
  if (!count) return std::nullopt;
  out.position = data_.position();
  const std::optional<std::string_view> bytes = data_.bytes(*count);
  if (!bytes) {
    cut_bytes_ = out.position;
    return std::nullopt;
  }
  out.count = *count;
  out.bytes = *bytes;
  return out;
}

}  // namespace heddle
