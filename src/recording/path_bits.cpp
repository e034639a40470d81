#include "recording/path_bits.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle {
namespace {

constexpr uint64_t kMostZeros = uint64_t{1} << 50;  // no thread lives to write more

}  // namespace

std::optional<uint64_t> PathBits::next_raw() {
  while (chunk_ < chunks_.size() && offset_ + sizeof(uint64_t) > chunks_[chunk_].size) {
    ++chunk_;
    offset_ = 0;
  }
  if (chunk_ == chunks_.size()) return std::nullopt;
  uint64_t word;
  std::memcpy(&word, chunks_[chunk_].bytes + offset_, sizeof word);
  offset_ += sizeof word;
  return word;
}

unsigned PathBits::width() const {
  return word_ == 0 ? 0 : static_cast<unsigned>(std::bit_width(word_)) - 1;
}

bool PathBits::next_word() {
  if (begun_ > pause_words_) return false;
  while (repeats_ == 0) {
    const std::optional<uint64_t> word = next_raw();
    if (!word || *word == 0) return false;
    if (*word != 1) {
      word_ = *word;
      repeats_ = 1;
      break;
    }
    // Without a number behind it, it is the word in the making, which has no bits yet.
    const std::optional<uint64_t> repeats = next_raw();
    if (!repeats || *repeats == 0) return false;
    if (word_ == 0) {
      malformed_ = true;
      return false;
    }
    repeats_ = *repeats;
  }
  --repeats_;
  ++begun_;
  left_ = width();
  hide();
  return true;
}

void PathBits::hide() {
  if (begun_ <= pause_words_) {
    hidden_ = 0;
  } else if (begun_ - 1 == pause_words_) {
    hidden_ = std::min(left_, width() - std::min(width(), pause_bits_));
  } else {
    hidden_ = left_;
  }
}

void PathBits::pause_at(uint64_t words, uint64_t word) {
  pause_words_ = words;
  pause_bits_ = word == 0 ? 0 : static_cast<unsigned>(std::bit_width(word)) - 1;
  hide();
}

void PathBits::resume() {
  pause_words_ = UINT64_MAX;
  hidden_ = 0;
}

std::optional<uint64_t> PathBits::read(unsigned count) {
  uint64_t out = 0;
  while (count > left_ - hidden_) {
    const unsigned part = left_ - hidden_;
    out = out << part | (word_ >> hidden_ & ((uint64_t{1} << part) - 1));
    count -= part;
    left_ = hidden_;
    if (!next_word()) return std::nullopt;
  }
  if (count == 0) return out;
  left_ -= count;
  return out << count | (word_ >> left_ & ((uint64_t{1} << count) - 1));
}

// A long run is mostly words without a one that come again and again.
PathBits::Zeros PathBits::read_zeros() {
  Zeros zeros;
  while (true) {
    const unsigned part = left_ - hidden_;
    const uint64_t bits = part == 0 ? 0 : word_ >> hidden_ & ((uint64_t{1} << part) - 1);
    if (bits != 0) {
      const unsigned before = part - static_cast<unsigned>(std::bit_width(bits));
      zeros.count += before;
      left_ -= before + 1;
      zeros.ended = true;
      return zeros;
    }
    zeros.count += part;
    left_ = hidden_;
    if (std::has_single_bit(word_) && repeats_ > 1 && begun_ + repeats_ <= pause_words_) {
      const uint64_t skipped = std::min(repeats_ - 1, kMostZeros);
      zeros.count += skipped * width();
      malformed_ |= zeros.count > kMostZeros;
      if (malformed_) return zeros;
      begun_ += skipped;
      repeats_ -= skipped;
    }
    if (!next_word()) return zeros;
  }
}

bool PathBits::at_end() {
  while (left_ == hidden_)
    if (!next_word()) return true;
  return false;
}

uint64_t PathBits::file_offset() const {
  if (chunks_.empty()) return 0;
  if (chunk_ == chunks_.size()) return chunks_.back().file_offset + chunks_.back().size;
  return chunks_[chunk_].file_offset + (offset_ >= sizeof(uint64_t) ? offset_ - sizeof(uint64_t) : 0);
}

}  // namespace heddle
