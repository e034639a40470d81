#include "driver/other_explanations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace heddle {
namespace {

constexpr size_t kMostUses = 12;

}  // namespace

OtherExplanations::OtherExplanations(const Trace& trace, const RecordedFailure& failure) : trace_(trace) {
  using Kind = FailurePredicate::Kind;
  all_first_ = trace.failure.kind == Kind::reached && trace.threads.size() > 1;
  if (failure.kind == "abort" || failure.kind == "segv" || failure.kind == "bus") find_uses();
}

// Of each block and place of use the last: an earlier one that is possible is mostly possible there too.
void OtherExplanations::find_uses() {
  struct Block {
    uint64_t size;
    std::set<uint32_t> releasers;
  };
  std::map<uint64_t, Block> blocks;  // by address
  for (uint32_t t = 0; t < trace_.threads.size(); ++t)
    for (const Event& event : trace_.threads[t].events)
      if (event.kind == EventKind::release) {
        Block& block = blocks[event.address];
        block.size = std::max<uint64_t>(block.size, event.size);
        block.releasers.insert(t);
      }
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint32_t>, Use> last;  // by block, users, place
  for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
    const std::vector<Event>& events = trace_.threads[t].events;
    for (uint32_t e = 0; e < events.size(); ++e) {
      const Event& event = events[e];
      if (!is_access(event.kind) && event.kind != EventKind::release) continue;
      auto block = blocks.upper_bound(event.address);
      if (block == blocks.begin()) continue;
      --block;
      if (event.address - block->first >= block->second.size) continue;
      for (const uint32_t releaser : block->second.releasers)
        if (releaser != t)
          last[{block->first, t, releaser, event.place}] = {
              .thread = t, .event = e, .address = event.address, .releaser = releaser};
    }
  }
  for (const auto& [key, use] : last) uses_.push_back(use);
  // By how far its thread is from its end.
  const auto left = [&](const Use& use) {
    return std::tuple(trace_.threads[use.thread].events.size() - use.event, use.thread, use.releaser);
  };
  std::ranges::sort(uses_, std::greater{}, left);
  if (uses_.size() > kMostUses) uses_.erase(uses_.begin(), uses_.end() - kMostUses);
}

Explanation OtherExplanations::all_first() const {
  Explanation out{.trace = trace_, .last = trace_.failure.thread, .text = "all that was recorded came first"};
  out.trace.failure.kind = FailurePredicate::Kind::deadlock;
  out.trace.failure.waiting.clear();
  for (uint32_t t = 0; t < trace_.threads.size(); ++t)
    out.trace.failure.waiting.push_back({.thread = t, .operation = {.kind = EventKind::once_passed}});
  return out;
}

Explanation OtherExplanations::used_after_release(const Use& use) const {
  Explanation out{.trace = trace_, .last = use.thread, .text = {}};
  ThreadTrace& thread = out.trace.threads[use.thread];
  const auto place = trace_.instruction_texts.find(thread.places[thread.events[use.event].place].instruction);
  out.text = fmt::format("thread {} came to {} after thread {} had released the block", thread.name,
                         place == trace_.instruction_texts.end() ? "a use" : place->second,
                         trace_.threads[use.releaser].name);
  thread.events.resize(use.event);
  std::erase_if(thread.constraints,
                [&](const Constraint& constraint) { return constraint.events > thread.events.size(); });
  out.trace.failure = {.kind = FailurePredicate::Kind::freed,
                       .thread = use.thread,
                       .condition = {},
                       .address = use.address,
                       .text = trace_.failure.text,
                       .waiting = {}};
  return out;
}

std::optional<Explanation> OtherExplanations::next() {
  if (all_first_) {
    all_first_ = false;
    return all_first();
  }
  if (uses_.empty()) return std::nullopt;
  const Use use = uses_.back();
  uses_.pop_back();
  return used_after_release(use);
}

}  // namespace heddle
