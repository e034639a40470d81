// What an event touches that events of other threads may touch too: memory, synchronisation objects, blocks,
// ends of threads. Two events that have no resource in common, or only read what they have, can change places,
// and neither makes the other possible or impossible.
//
// Accesses that may overlap are one resource, taken together (an address that depends on reads may be anywhere
// in its object). A write that enters a store buffer touches nothing yet: its flush does.
#pragma once

#include <span>
#include <vector>

#include "solve/problem.h"

namespace heddle {

struct ResourceUse {
  uint32_t resource = 0;
  bool writes = false;

  friend bool operator==(const ResourceUse&, const ResourceUse&) = default;
};

constexpr bool conflict(const ResourceUse& left, const ResourceUse& right) {
  return left.resource == right.resource && (left.writes || right.writes);
}

class Resources {
 public:
  explicit Resources(const Problem& problem);

  uint32_t size() const { return size_; }
  // Of an event where it stands; of a buffered write, nothing.
  std::span<const ResourceUse> of(EventRef event) const { return uses_[event.thread][event.event]; }
  // The memory of an access.
  uint32_t memory_of(EventRef event) const { return memory_[event.thread][event.event]; }
  // Whether events of other threads than this one, from the positions on, conflict with the use; or the
  // failure does. Buffered writes are the caller's.
  bool is_wanted(const ResourceUse& use, uint32_t thread, std::span<const uint32_t> positions) const;
  // Memory that the thread reads for the last time by this event.
  std::span<const uint32_t> last_read_by(EventRef event) const {
    return last_reads_[event.thread][event.event];
  }
  uint32_t readers(uint32_t resource) const { return readers_[resource]; }  // threads that read it at all

 private:
  struct Last {  // one behind the last event that uses it, and that writes it; 0: none
    uint32_t use = 0, write = 0;
  };

  void find_memory(const Problem& problem);
  void find_uses(const Problem& problem);
  void find_lasts(const Problem& problem);

  uint32_t size_ = 0, threads_ = 0;
  std::vector<std::vector<std::vector<ResourceUse>>> uses_;
  std::vector<std::vector<uint32_t>> memory_;
  std::vector<Last> lasts_;  // by resource and thread
  std::vector<std::vector<std::vector<uint32_t>>> last_reads_;
  std::vector<uint32_t> readers_;
  std::vector<bool> always_wanted_;
};

}  // namespace heddle
