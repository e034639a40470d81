// Which write each read of an order reads from, and orders that are refuted by it: what a thread does follows
// from what it reads, so when a run that follows an order does not do what the trace says, no order with the
// same sources of the reads before that point is worth a try (section 3.2 of CLAP leaves this out; a trace with
// approximations needs it).
#pragma once

#include <optional>
#include <span>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

// Of all reads in the order, by its items. None if addresses depend on what is read.
// requires: evaluate() carries the whole order out
std::optional<ReadsFrom> reads_from(const Problem& problem, std::span<const OrderItem> order);

// Of these the ones that the thread's events before `end` depend on: its own, those before what they read, and
// so on.
ReadsFrom sources_before(const ReadsFrom& all, EventRef end);

// What engines say that find no other order than refuted ones, but cannot prove that there is none.
inline constexpr const char* kRefuted = "the order that was found is known to lead elsewhere";

// Whether the order has all sources of one of Problem::refuted. False if that cannot be told.
bool is_refuted(const Problem& problem, std::span<const OrderItem> order);

}  // namespace heddle
