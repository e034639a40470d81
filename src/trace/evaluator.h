// Evaluates a trace under a given total order of its events: computes all values concretely, in linear time,
// and says where the order first fails.
//
// Memory models as in the dissertation, section 3.2.1: SC: a write is in memory when it is carried out. TSO: it
// goes to the thread's buffer, from where a `flush` takes the oldest to memory; a thread reads its own newest
// buffered write of a byte first. PSO: the same with a buffer per address (store_buffer.h). Updates, fences and
// writes of seq_cst, direct writes, and synchronisation need an empty buffer.
//
// An order need not have all events of a trace: a failure ends the run. Constraints are checked as soon as the
// events before them are done. What depends on something unknown (ExprOp::unknown) cannot be decided; it counts
// as holding, and is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "schedule/schedule.h"
#include "trace/trace.h"

namespace heddle {

struct OrderItem {
  uint32_t thread = 0;
  uint32_t event = 0;  // flush: the write that becomes visible
  bool flush = false;

  friend bool operator==(const OrderItem&, const OrderItem&) = default;
};

struct Evaluation {
  enum class Kind : uint8_t {
    holds,        // the whole order was carried out, all constraints hold, and so does the failure predicate
    not_order,    // an item is not the thread's next, is inside a step of another, or there is nothing to flush
    not_enabled,  // an event that cannot happen here (lock held, nobody to join, buffer not empty, ...)
    outside,      // an address that depends on reads is not in its object
    constraint,   // one does not hold: `constraint`
    no_failure,   // all is well, but the failure predicate does not hold
  };
  Kind kind = Kind::holds;
  size_t item = 0;  // of the order, where it happened
  uint32_t thread = 0, event = 0, constraint = 0;
  uint64_t undecided = 0;  // constraints that depend on something unknown

  std::string text(const Trace& trace) const;  // for people
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};
std::string_view text_of(Evaluation::Kind kind);

// What was read or written, little-endian words; called in the order of the items. Values that depend on
// something unknown are not `certain`.
using ValueWatcher = std::function<void(uint32_t thread, uint32_t event, std::span<const uint64_t> read,
                                        std::span<const uint64_t> written, bool certain)>;

// requires: check_trace(trace)
Evaluation evaluate(const Trace& trace, MemoryModel model, std::span<const OrderItem> order,
                    const ValueWatcher& watcher = {});

}  // namespace heddle
