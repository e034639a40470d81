// A set of fingerprints: one table without lists, since visited states are looked up once for each step and
// most of the time that takes is waiting for memory.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "base/hash128.h"

namespace heddle {

// Memory in pages as large as the machine has them: each look at a large table is at another page.
template <class T>
struct LargePages {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20;

  T* allocate(size_t count) {
    const size_t size = count * sizeof(T), rounded = (size + kPage - 1) / kPage * kPage;
    void* memory = size < kPage ? std::malloc(size) : std::aligned_alloc(kPage, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    if (size >= kPage) ::madvise(memory, rounded, MADV_HUGEPAGE);  // if it can be had
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  friend bool operator==(LargePages, LargePages) { return true; }
};

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
  using Table = std::vector<Hash128, LargePages<Hash128>>;

  Hash128& find(const Hash128& hash) {
    size_t at = hash.low & (table_.size() - 1);
    while (table_[at] != Hash128{} && table_[at] != hash) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    const Table old = std::exchange(table_, Table(std::max<size_t>(1024, 4 * table_.size())));
    for (const Hash128& each : old)
      if (each != Hash128{}) find(each) = each;
  }

  Table table_;  // zero: free
  size_t size_ = 0;
  bool has_zero_ = false;
};

}  // namespace heddle
