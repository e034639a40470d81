// Fingerprints of 128 bits: of so many states that no two different ones are ever taken for the same.
//
// Those of the parts of a state are joined by ^, so that a part that changes is taken out and put in again. An
// even number of equal parts cancels out: a part's fingerprint has to name the part.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

namespace heddle {

struct Hash128 {
  uint64_t low = 0, high = 0;

  Hash128& operator^=(const Hash128& other) {
    low ^= other.low;
    high ^= other.high;
    return *this;
  }
  friend Hash128 operator^(Hash128 left, const Hash128& right) { return left ^= right; }
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

class Hasher128 {
 public:
  // Both halves see each word, with different multipliers and the other half's state (as in MurmurHash3).
  void add(uint64_t word) {
    low_ = (rotated(low_ ^ word * 0x87c37b91114253d5, 27) + high_) * 5 + 0x52dce729;
    high_ = (rotated(high_ ^ word * 0x4cf5ad432745937f, 31) + low_) * 5 + 0x38495ab5;
  }
  Hash128 hash() const {
    const uint64_t low = mixed(low_ + high_);
    return {.low = low, .high = mixed(high_) + low * 0x9e3779b97f4a7c15};
  }

 private:
  static uint64_t rotated(uint64_t word, unsigned by) { return word << by | word >> (64 - by); }
  static uint64_t mixed(uint64_t word) {
    word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
    return word ^ word >> 33;
  }

  uint64_t low_ = 0x243f6a8885a308d3, high_ = 0x13198a2e03707344;
};

inline Hash128 hash_of(std::initializer_list<uint64_t> words) {
  Hasher128 hasher;
  for (const uint64_t word : words) hasher.add(word);
  return hasher.hash();
}

}  // namespace heddle

template <>
struct std::hash<heddle::Hash128> {
  size_t operator()(const heddle::Hash128& hash) const noexcept { return hash.low; }
};
