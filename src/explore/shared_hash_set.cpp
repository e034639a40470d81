#include "explore/shared_hash_set.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <ranges>

namespace heddle {
namespace {

constexpr size_t kFirstSize = size_t{1} << 16, kLastSize = size_t{1} << 30;
constexpr uint64_t kOwner = UINT32_MAX;  // the rest are bits of the fingerprint

// Pages are there when they are touched.
void* shared_memory(size_t size) {
  void* memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

struct SharedHashSet::Head {
  std::atomic<uint32_t> table = 0;  // that is filled
  std::atomic<size_t> used = 0;     // of its entries
  std::atomic<uint32_t> voids = 0;
  std::atomic<uint32_t> void_owners[1024];
};

SharedHashSet::SharedHashSet() {
  void* head = shared_memory(sizeof(Head));
  if (head == nullptr) throw std::bad_alloc();
  head_ = new (head) Head;
  for (size_t size = kFirstSize; size <= kLastSize; size *= 4) {
    void* entries = shared_memory(size * sizeof(Entry));
    if (entries == nullptr) break;  // a limit of this process: states may be visited several times
    tables_.push_back({.entries = static_cast<Entry*>(entries), .size = size});
  }
}

SharedHashSet::~SharedHashSet() {
  for (const Table& table : tables_) ::munmap(table.entries, table.size * sizeof(Entry));
  ::munmap(head_, sizeof(Head));
}

bool SharedHashSet::make_void(uint32_t owner) {
  const uint32_t at = head_->voids;
  if (at == std::size(head_->void_owners)) return false;
  head_->void_owners[at] = owner;
  head_->voids = at + 1;
  return true;
}

bool SharedHashSet::is_void(uint32_t owner) const {
  const uint32_t count = head_->voids.load(std::memory_order_acquire);
  return std::ranges::any_of(head_->void_owners, head_->void_owners + count,
                             [&](const std::atomic<uint32_t>& each) { return each == owner; });
}

// Looking and putting are one walk: whoever finds an entry taken in the moment in which it wants it looks at what
// is there now, which may be the same fingerprint.
SharedHashSet::Found SharedHashSet::find(const Table& table, uint64_t key, uint64_t rest, bool puts) const {
  for (size_t at = key & (table.size - 1);; at = (at + 1) & (table.size - 1)) {
    Entry& entry = table.entries[at];
    std::atomic_ref word(entry.rest_and_owner);
    uint64_t there = std::atomic_ref(entry.key).load(std::memory_order_acquire);
    if (there == 0) {
      if (!puts) return Found::no;
      if (std::atomic_ref(entry.key).compare_exchange_strong(there, key)) {
        word.store(rest | owner_, std::memory_order_release);
        return Found::no;
      }
    }
    if (there != key) continue;
    // Whoever took the entry writes this next; if that one died in between, nobody ever will.
    uint64_t seen = word.load(std::memory_order_acquire);
    for (unsigned i = 0; i < 1000 && seen == 0; ++i) seen = word.load(std::memory_order_acquire);
    if (seen == 0 || (seen & ~kOwner) != rest) continue;
    const bool mine =
        is_void(static_cast<uint32_t>(seen & kOwner)) && word.compare_exchange_strong(seen, rest | owner_);
    return mine ? Found::taken_over : Found::yes;
  }
}

bool SharedHashSet::insert(const Hash128& hash) {
  const uint64_t key = hash.low == 0 ? 1 : hash.low, rest = hash.high & ~kOwner;
  const uint32_t last = head_->table.load(std::memory_order_acquire);
  if (last >= tables_.size()) return true;
  for (uint32_t i = 0; i <= last; ++i)
    if (const Found found = find(tables_[i], key, rest, i == last); found != Found::no)
      return found == Found::taken_over;
  if (++head_->used * 2 > tables_[last].size) {
    uint32_t expected = last;
    if (head_->table.compare_exchange_strong(expected, last + 1)) head_->used = 0;
  }
  return true;
}

}  // namespace heddle
