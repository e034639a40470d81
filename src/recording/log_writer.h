// For tests: writes a thread's log by the letter of abi/record.h, apart from the runtime that does it in
// earnest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "abi/record.h"
#include "recording/entries.h"

namespace heddle {

class LogWriter {
 public:
  LogWriter() {
    head.magic = HEDDLE_RECORD_LOG_MAGIC;
    head.format = HEDDLE_RECORD_FORMAT;
    std::strcpy(head.name, "0.1");
    head.begin_tsc = 1000;
  }

  heddle_record_log head{};
  bool clock = true;
  uint64_t chunk_size = HEDDLE_RECORD_PAGE;
  uint64_t first_sequence = 0;  // of both streams

  // ---- path stream
  void bits(uint64_t value, unsigned count) {
    if (words_.empty()) words_.push_back(1);
    if (count != 0 && words_.back() >> (64 - count) != 0) words_.push_back(1);
    if (count != 0) words_.back() = words_.back() << count | value;
  }
  void rounds(uint64_t number) {  // of a counted loop
    for (; number > 0; --number) bits(0, 1);
  }
  void leave_loop(uint64_t rounds_before, uint64_t exit, unsigned exit_bits) {
    rounds(rounds_before);
    bits(uint64_t{1} << exit_bits | exit, exit_bits + 1);
  }

  uint64_t words_completed() const { return words_.empty() ? 0 : words_.size() - 1; }
  uint64_t word() const { return words_.empty() ? 1 : words_.back(); }

  // ---- data stream
  uint64_t position() const { return position_; }
  void enter(uint32_t function) { entry(tag(HEDDLE_RECORD_enter) + varint(function)); }
  void enter_from_outside(uint32_t function,
                          const std::vector<std::pair<uint64_t, unsigned>>& arguments = {}) {  // value, bytes
    entry(tag(HEDDLE_RECORD_enter_from_outside) + varint(function));
    for (const auto& [argument, bytes] : arguments) value(argument, bytes);
  }
  void landed(uint32_t invoke) { entry(tag(HEDDLE_RECORD_landed) + varint(invoke)); }
  void foreign(uint64_t target) { entry(tag(HEDDLE_RECORD_foreign) + reference(target)); }
  void child(uint64_t number) { entry(tag(HEDDLE_RECORD_child) + varint(number)); }
  void twice(uint32_t call, uint64_t returns, uint64_t distance, uint32_t result) {
    entry(tag(HEDDLE_RECORD_twice) + varint(call) + varint(returns) + (returns != 0 ? varint(distance) : "") +
          number(result, 4));
  }
  void sync(uint8_t kind, const std::vector<uint64_t>& objects, uint64_t tsc) {
    std::string out = tag(static_cast<uint8_t>(HEDDLE_RECORD_sync + kind));
    for (uint64_t object : objects) out += reference(object);
    entry(out + (heddle_sync_releases(kind) ? stamp(tsc) : ""));
  }
  void returned(int error, bool stamped, uint64_t tsc, uint64_t result, unsigned result_bytes) {
    const bool stamps = stamped && clock, zero = result == 0 && result_bytes != 0;
    entry(tag(static_cast<uint8_t>(HEDDLE_RECORD_returned + (error != 0 ? HEDDLE_RECORD_returned_errno : 0) +
                                   (stamps ? HEDDLE_RECORD_returned_stamp : 0) +
                                   (zero ? HEDDLE_RECORD_returned_zero : 0))) +
          (error != 0 ? varint(static_cast<uint64_t>(error)) : "") + (stamps ? stamp(tsc) : "") +
          (zero ? "" : number(result, result_bytes)));
  }
  void value(uint64_t value, unsigned bytes) { entry(number(value, bytes)); }
  // May continue in the next chunks.
  void bytes(std::string_view written) {
    entry(tag(HEDDLE_RECORD_bytes) + varint(written.size()));
    for (char byte : written) entry(std::string(1, byte));
  }
  void file_bytes(uint64_t file, uint64_t offset, uint64_t count) {
    entry(tag(HEDDLE_RECORD_file_bytes) + varint(file) + varint(offset) + varint(count));
  }
  void signal(uint64_t number_of, uint64_t pc) {
    signal({.signal = number_of, .pc = pc, .path_words = 8, .word = 1, .data_bytes = 16});
  }
  void signal(const SignalEntry& signal) {
    entry(tag(HEDDLE_RECORD_signal) + varint(signal.signal) + number(signal.pc, 8) + varint(signal.path_words) +
          number(signal.word, 8) + varint(signal.pending_path) + varint(signal.data_bytes));
  }
  void signal_end() { entry(tag(HEDDLE_RECORD_signal_end)); }
  void raw(std::string bytes) { entry(std::move(bytes)); }

  // ---- the file
  std::string file() const {
    std::string out(reinterpret_cast<const char*>(&head), sizeof head);
    out.resize(HEDDLE_RECORD_PAGE);
    std::vector<std::string> path = path_chunks();
    for (size_t i = 0; i < std::max(path.size(), data_.size()); ++i) {
      if (i < path.size()) out += chunk(HEDDLE_RECORD_path, i, path[i]);
      if (i < data_.size()) out += chunk(HEDDLE_RECORD_data, i, data_[i]);
    }
    return out;
  }

 private:
  uint64_t room() const { return chunk_size - HEDDLE_RECORD_CHUNK_HEAD; }
  static std::string tag(uint8_t tag) { return std::string(1, static_cast<char>(tag)); }
  static std::string number(uint64_t value, unsigned bytes) {
    return {reinterpret_cast<const char*>(&value), bytes};
  }
  static std::string varint(uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out += static_cast<char>(value);
  }
  std::string reference(uint64_t address) {
    const uint64_t place = (address >> 3) % 255;
    if (references_[place] == address) return tag(static_cast<uint8_t>(place));
    references_[place] = address;
    return tag(255) + number(address, 8);
  }
  std::string stamp(uint64_t tsc) {
    if (!clock) return "";
    const uint64_t units = (tsc - tsc_) / HEDDLE_RECORD_STAMP_UNIT;
    tsc_ += units * HEDDLE_RECORD_STAMP_UNIT;
    return varint(units);
  }
  void entry(std::string bytes) {
    if (data_.empty() || data_.back().size() + bytes.size() > room()) data_.emplace_back();
    data_.back() += bytes;
    position_ += bytes.size();
  }
  std::vector<std::string> path_chunks() const {
    std::vector<std::string> out(1);
    for (size_t i = 0; i < words_.size();) {
      uint64_t repeats = 0;
      while (i + 1 + repeats < words_.size() && words_[i + 1 + repeats] == words_[i]) ++repeats;
      std::string bytes = number(words_[i], 8);
      if (repeats > 0) bytes += number(1, 8) + number(repeats, 8);
      if (out.back().size() + bytes.size() > room()) out.emplace_back();
      out.back() += bytes;
      i += 1 + repeats;
    }
    return out;
  }
  std::string chunk(heddle_record_stream stream, size_t index, const std::string& content) const {
    heddle_record_chunk head_of{};
    head_of.used = HEDDLE_RECORD_CHUNK_HEAD + content.size();
    head_of.magic = HEDDLE_RECORD_CHUNK_MAGIC;
    head_of.stream = stream;
    head_of.size = chunk_size;
    head_of.sequence = first_sequence + index;
    head_of.begin_tsc = clock ? 1000 : 0;
    std::string out(reinterpret_cast<const char*>(&head_of), sizeof head_of);
    out += content;
    out.resize(chunk_size);
    return out;
  }

  std::vector<uint64_t> words_;
  std::vector<std::string> data_{1};
  uint64_t position_ = 0;
  uint64_t references_[255] = {};
  uint64_t tsc_ = 1000;
};

}  // namespace heddle
