// A trace as text, for people: what `heddle show TRACE` prints.
#pragma once

#include <span>
#include <string>

#include "trace/evaluator.h"

namespace heddle {

std::string trace_text(const Trace& trace);  // one line for each event and constraint

// "   12 write 4 at 0x55d0: (read 11) + 1    bank.c:12 deposit"
std::string event_text(const Trace& trace, uint32_t thread, uint32_t event);
// "branch: (read 11) < 5    bank.c:13 deposit"
std::string constraint_text(const Trace& trace, uint32_t thread, uint32_t constraint);

// An order with the values that are read and written under it, its last `most` items; one line for each, below
// the name of the thread that carries it out. requires: evaluate() carries the whole order out
std::string order_text(const Trace& trace, MemoryModel model, std::span<const OrderItem> order, size_t most);

}  // namespace heddle
