// A set of fingerprints: one table without lists, since visited states are looked up once for each step and
// most of the time that takes is waiting for memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash128.h"

namespace heddle {

class HashSet {
 public:
  // Whether it is new.
  bool insert(const Hash128& hash) {
    if (2 * (size_ + 1) > table_.size()) grow();
    if (hash == Hash128{}) return !std::exchange(has_zero_, true);
    Hash128& place = find(hash);
    if (place == hash) return false;
    place = hash;
    ++size_;
    return true;
  }
  void clear() {
    table_.clear();
    size_ = 0;
    has_zero_ = false;
  }

 private:
  Hash128& find(const Hash128& hash) {
    size_t at = hash.low & (table_.size() - 1);
    while (table_[at] != Hash128{} && table_[at] != hash) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    const std::vector<Hash128> old =
        std::exchange(table_, std::vector<Hash128>(std::max<size_t>(1024, 4 * table_.size())));
    for (const Hash128& each : old)
      if (each != Hash128{}) find(each) = each;
  }

  std::vector<Hash128> table_;  // zero: free
  size_t size_ = 0;
  bool has_zero_ = false;
};

}  // namespace heddle
