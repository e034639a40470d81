#include "recording/data_bytes.h"

#include <algorithm>
#include <cstring>

namespace heddle {

bool DataBytes::have() {
  while (offset_ >= end_) {
    if (chunk_ == chunks_.size() || position() >= pause_) return false;
    ++chunk_;
    offset_ = 0;
    find_end();
  }
  return true;
}

void DataBytes::find_end() {
  if (chunk_ == chunks_.size()) {
    end_ = 0;
    return;
  }
  const StreamChunk& chunk = chunks_[chunk_];
  end_ = pause_ <= chunk.position ? 0 : std::min(chunk.size, pause_ - chunk.position);
}

void DataBytes::pause_at(uint64_t position) {
  pause_ = position;
  find_end();
}

bool DataBytes::at_end() const {
  if (chunk_ == chunks_.size()) return true;
  if (offset_ < end_) return false;
  if (position() >= pause_) return true;
  return std::all_of(chunks_.begin() + static_cast<ptrdiff_t>(chunk_) + 1, chunks_.end(),
                     [](const StreamChunk& chunk) { return chunk.size == 0; });
}

uint64_t DataBytes::position() const {
  if (chunk_ < chunks_.size()) return chunks_[chunk_].position + offset_;
  return chunks_.empty() ? 0 : chunks_.back().position + chunks_.back().size;
}

uint64_t DataBytes::file_offset() const {
  if (chunk_ < chunks_.size()) return chunks_[chunk_].file_offset + offset_;
  return chunks_.empty() ? 0 : chunks_.back().file_offset + chunks_.back().size;
}

std::optional<uint8_t> DataBytes::byte() {
  if (!have()) return std::nullopt;
  return static_cast<uint8_t>(chunks_[chunk_].bytes[offset_++]);
}

std::optional<uint64_t> DataBytes::number(unsigned bytes) {
  uint64_t out = 0;
  if (have() && end_ - offset_ >= bytes) {
    std::memcpy(&out, chunks_[chunk_].bytes + offset_, bytes);
    offset_ += bytes;
    return out;
  }
  for (unsigned i = 0; i < bytes; ++i) {
    const std::optional<uint8_t> next = byte();
    if (!next) return std::nullopt;
    out |= uint64_t{*next} << (8 * i);
  }
  return out;
}

std::optional<uint64_t> DataBytes::varint() {
  uint64_t out = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::optional<uint8_t> next = byte();
    if (!next) return std::nullopt;
    const uint64_t digits = *next & 0x7f;
    if (shift > 63 || (digits << shift >> shift) != digits) {
      malformed_ = true;
      return std::nullopt;
    }
    out |= digits << shift;
    if ((*next & 0x80) == 0) return out;
  }
}

std::optional<std::string_view> DataBytes::bytes(uint64_t count) {
  if (!have()) {
    if (count == 0) return std::string_view();
    return std::nullopt;
  }
  if (end_ - offset_ >= count) {
    const std::string_view out(chunks_[chunk_].bytes + offset_, count);
    offset_ += count;
    return out;
  }
  joined_.clear();
  while (joined_.size() < count) {
    if (!have()) return std::nullopt;
    const uint64_t part = std::min(end_ - offset_, count - joined_.size());
    joined_.append(chunks_[chunk_].bytes + offset_, part);
    offset_ += part;
  }
  return std::string_view(joined_);
}

}  // namespace heddle
