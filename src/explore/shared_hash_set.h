// A set of fingerprints that worker processes share: states that one of them has visited, the others do not
// visit again. It lies in memory that processes made later have too.
//
// Each fingerprint has an owner, the attempt at a unit of work (unit_search.h) that visits what is behind the
// state. When a worker dies, its attempt is void: whoever comes to such a state next owns it. So nothing is
// lost: what somebody else did not visit because the dead one was at it, the next attempt at that unit does.
//
// Tables of four times the size follow one another as they fill up; one that is half full gets no more. Two
// processes that meet at a state in that moment may both be told that it is new, which costs time only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash128.h"

namespace heddle {

class SharedHashSet {
 public:
  SharedHashSet();
  ~SharedHashSet();
  SharedHashSet(const SharedHashSet&) = delete;
  SharedHashSet& operator=(const SharedHashSet&) = delete;

  void set_owner(uint32_t owner) { owner_ = owner; }  // of what this process inserts; not 0
  // Whether it is new, or was of a void owner.
  bool insert(const Hash128& hash);
  // False: there have been too many.
  bool make_void(uint32_t owner);

 private:
  struct Head;
  struct Entry {
    uint64_t key = 0;             // 0: free
    uint64_t rest_and_owner = 0;  // of the fingerprint 32 bits more; 0: not yet
  };
  struct Table {
    Entry* entries = nullptr;
    size_t size = 0;
  };
  enum class Found : uint8_t { no, yes, taken_over };
  // `puts`: where it is not, it is put, and the answer is `no`.
  Found find(const Table& table, uint64_t key, uint64_t rest, bool puts) const;
  bool is_void(uint32_t owner) const;

  Head* head_ = nullptr;
  std::vector<Table> tables_;
  uint32_t owner_ = 1;
};

}  // namespace heddle
