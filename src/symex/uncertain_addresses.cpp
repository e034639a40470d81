#include "symex/uncertain_addresses.h"

#include <algorithm>

namespace heddle {

UncertainAddresses::UncertainAddresses(std::span<const ThreadTrace* const> threads)
    : threads_(threads), uncertain_(threads.size()) {
  const bool none = std::ranges::none_of(threads, [](const ThreadTrace* thread) {
    return std::ranges::any_of(thread->events,
                               [](const Event& event) { return bool{event.address_expression}; });
  });
  if (none) return;
  uint64_t before = 0;
  bool was_everywhere = false;
  do {
    before = bytes_.count();
    was_everywhere = everywhere_;
    for (uint32_t t = 0; t < threads.size(); ++t) find(t);
  } while (bytes_.count() != before || everywhere_ != was_everywhere);
  for (uint32_t t = 0; t < threads.size(); ++t)
    for (uint32_t e = 0; e < threads[t]->events.size(); ++e) {
      const Event& event = threads[t]->events[e];
      if (!event.address_expression || !uncertain_[t][event.address_expression.number]) continue;
      accesses_.push_back({t, e});
      if (event.kind == EventKind::read) reads_ = std::max<uint64_t>(reads_, event.size);
      if (event.kind == EventKind::update) updates_ += event.size;
    }
}

// What is uncertain in a thread, and what it writes where.
void UncertainAddresses::find(uint32_t thread) {
  const ThreadTrace& trace = *threads_[thread];
  std::vector<bool>& uncertain = uncertain_[thread];
  uncertain.assign(trace.pool.size(), false);
  const auto is = [&](Expr e) { return e && uncertain[e.number]; };
  for (uint32_t i = 1; i < uncertain.size(); ++i) {  // operands come first
    const ExprNode& node = trace.pool.node(Expr{i});
    if (node.op == ExprOp::unknown) {
      uncertain[i] = node.a != ExprPool::kDecidedByPath;
    } else if (node.op == ExprOp::read) {
      uncertain[i] = node.a < trace.events.size() &&
                     (is(trace.events[node.a].address_expression) || reads_unknown(trace.events[node.a]));
    } else {
      uncertain[i] = std::ranges::any_of(operands_of(node), is);
    }
  }
  for (const Event& event : trace.events)
    if (writes_value(event.kind) && (is(event.value) || is(event.address_expression))) writes_unknown(event);
}

bool UncertainAddresses::reads_unknown(const Event& event) const {
  if (!is_access(event.kind)) return false;
  if (everywhere_) return true;
  if (!event.address_expression) return bytes_.contains(event.address, event.size);
  return event.object_size != 0 ? bytes_.contains(event.object, event.object_size) : !bytes_.empty();
}

void UncertainAddresses::writes_unknown(const Event& event) {
  if (!event.address_expression) {
    bytes_.add(event.address, event.size);
  } else if (event.object_size != 0) {
    bytes_.add(event.object, event.object_size);
  } else {
    everywhere_ = true;
  }
}

void UncertainAddresses::lead_nowhere(Trace& trace) const {
  uint64_t update = kNowhere + reads_;
  for (const Access& access : accesses_) {
    Event& event = trace.threads[access.thread].events[access.event];
    event.address = event.kind == EventKind::read ? kNowhere : event.kind == EventKind::update ? update : kLost;
    if (event.kind == EventKind::update) update += event.size;
  }
}

}  // namespace heddle
