// Accesses whose address may turn out to be unknown when the trace is evaluated: it depends on what was read
// where something unknown may have been written (D8; policy paths).
//
// Whoever evaluates a trace takes such an address for Event::address. Nothing must follow from what is read
// there: so that is a place of its own, *nowhere*, which holds unknown values from the first event on and where
// nobody writes. An update has one to itself, since it writes there, and writes go to another one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symex/shared_bytes.h"
#include "trace/trace.h"

namespace heddle {

inline constexpr uint64_t kNowhere = uint64_t{1} << 59;          // no process has such addresses
inline constexpr uint64_t kLost = kNowhere | uint64_t{1} << 40;  // what is written nowhere

class UncertainAddresses {
 public:
  explicit UncertainAddresses(std::span<const ThreadTrace* const> threads);

  // How many bytes must be unknown there.
  uint64_t nowhere() const { return reads_ + updates_; }
  // Sets the addresses. requires: the trace has these threads
  void lead_nowhere(Trace& trace) const;

 private:
  struct Access {
    uint32_t thread, event;
  };

  void find(uint32_t thread);
  bool reads_unknown(const Event& event) const;
  void writes_unknown(const Event& event);

  std::span<const ThreadTrace* const> threads_;
  std::vector<std::vector<bool>> uncertain_;  // by thread, then expression
  SharedBytes bytes_;                         // where something unknown may be
  bool everywhere_ = false;
  std::vector<Access> accesses_;
  uint64_t reads_ = 0, updates_ = 0;  // bytes
};

}  // namespace heddle
