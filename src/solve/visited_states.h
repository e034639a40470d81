// The fingerprints of the states in which searchers have been; for several threads.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/hash128.h"

namespace heddle {

class VisitedStates {
 public:
  // Whether it was not there.
  bool insert(const Hash128& state) {
    Part& part = parts_[state.high % kParts];
    const std::lock_guard lock(part.mutex);
    if (part.size * 2 >= part.table.size()) grow(part);
    Hash128& place = place_of(part.table, state);
    if (place == state) return false;
    place = state;
    ++part.size;
    return true;
  }
  bool contains(const Hash128& state) {
    Part& part = parts_[state.high % kParts];
    const std::lock_guard lock(part.mutex);
    return !part.table.empty() && place_of(part.table, state) == state;
  }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kParts = 64;  // so that threads seldom meet
  struct Part {
    std::mutex mutex;
    std::vector<Hash128> table;  // open addressing; no fingerprint is 0 but by a chance that never comes
    size_t size = 0;
  };

  static Hash128& place_of(std::vector<Hash128>& table, const Hash128& state) {
    size_t at = state.low & (table.size() - 1);
    while (table[at] != Hash128{} && table[at] != state) at = (at + 1) & (table.size() - 1);
    return table[at];
  }

  void grow(Part& part) {
    std::vector<Hash128> larger(part.table.empty() ? 16 : part.table.size() * 2);
    for (const Hash128& state : part.table)
      if (state != Hash128{}) place_of(larger, state) = state;
    bytes_ += (larger.size() - part.table.size()) * sizeof(Hash128);
    part.table = std::move(larger);
  }

  std::array<Part, kParts> parts_;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace heddle
