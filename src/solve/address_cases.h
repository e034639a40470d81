// Addresses that depend on what was read, case by case: each case says for all of them what they are.
//
// The first case is what was recorded. A search in a case evaluates the addresses' expressions for all values
// that their reads could have; what comes out otherwise than the case says makes further cases. Say that an
// order exists, with addresses that are no case. Take the case that agrees with it wherever an address is
// known, and of the others the one that the order accesses first: up to there the order is one of the case too,
// so its reads have values that the search went through, and the address is known after all. So if all cases
// were searched, and in each all values gone through, there is no order.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "solve/problem.h"

namespace heddle {

class AddressCases {
 public:
  explicit AddressCases(const Trace& trace);  // outlives this

  bool any() const { return !events_.empty(); }
  // The trace of the next case; none: there are no more, or too many.
  std::optional<Trace> next();

  // In a case, the address of the event (by its number in accesses()) might be this.
  void note(uint32_t access, uint64_t address);
  void note_not_all_values() { complete_ = false; }
  bool is_complete() const { return complete_; }  // all cases that there are were given out

  const std::vector<EventRef>& accesses() const { return events_; }
  uint64_t recorded(uint32_t access) const { return addresses_[access][0]; }

 private:
  const Trace& trace_;
  std::vector<EventRef> events_;
  std::vector<std::vector<uint64_t>> addresses_;  // known ones; the first was recorded
  std::set<std::vector<uint32_t>> given_;         // by access: which address
  bool complete_ = true;
};

}  // namespace heddle
