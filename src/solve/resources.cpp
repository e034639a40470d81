#include "solve/resources.h"

#include <algorithm>
#include <map>

namespace heddle {
namespace {

struct Range {
  uint64_t first, last;  // bytes
};

Range range_of(const Event& event) {
  const Range here{event.address, event.address + event.size - 1};
  if (!event.address_expression) return here;
  if (event.object_size == 0) return {0, UINT64_MAX};
  // An address that is not certain is the recorded one.
  return {std::min(event.object, here.first), std::max(event.object + (event.object_size - 1), here.last)};
}

// Numbers of objects, blocks and ends of threads behind those of memory.
class Names {
 public:
  explicit Names(uint32_t first) : next_(first) {}
  uint32_t object(uint64_t address) { return named('o', address); }
  uint32_t exit_of(uint64_t thread) { return named('e', thread); }
  uint32_t blocks() { return named('b', 0); }
  uint32_t end() const { return next_; }

 private:
  uint32_t named(char kind, uint64_t name) {
    const auto [at, is_new] = names_.try_emplace({kind, name}, next_);
    next_ += is_new;
    return at->second;
  }

  uint32_t next_;
  std::map<std::pair<char, uint64_t>, uint32_t> names_;
};

// Of what is no access.
std::vector<ResourceUse> uses_of(const Event& event, uint64_t thread, Names& names) {
  switch (event.kind) {
    case EventKind::read:
    case EventKind::write:
    case EventKind::update:
    case EventKind::fence:
    case EventKind::create:  // makes things possible, but the creation has no part in whether it is left
    case EventKind::start:
    case EventKind::detach:
    case EventKind::futex_wait:
    case EventKind::futex_wake:
    case EventKind::sync:
      return {};
    case EventKind::exit:
      return {{names.exit_of(thread), true}};
    case EventKind::join:
      return {{names.exit_of(event.address), true}};
    case EventKind::allocate:
    case EventKind::release:
      return {{names.blocks(), true}};
    case EventKind::wait_begin:
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return {{names.object(event.address), true}, {names.object(event.second), true}};
    default:
      return {{names.object(event.address), true}};
  }
}

}  // namespace

Resources::Resources(const Problem& problem) : threads_(static_cast<uint32_t>(problem.trace->threads.size())) {
  find_memory(problem);
  find_uses(problem);
  find_lasts(problem);
}

void Resources::find_memory(const Problem& problem) {
  std::vector<Range> ranges;
  for (const ThreadTrace& thread : problem.trace->threads)
    for (const Event& event : thread.events)
      if (is_access(event.kind)) ranges.push_back(range_of(event));
  std::ranges::sort(ranges, {}, &Range::first);
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last)
      joined.back().last = std::max(joined.back().last, range.last);
    else
      joined.push_back(range);
  }
  memory_.resize(threads_);
  for (uint32_t t = 0; t < threads_; ++t)
    for (const Event& event : problem.trace->threads[t].events) {
      uint32_t number = 0;
      if (is_access(event.kind)) {
        const auto behind = std::ranges::upper_bound(joined, range_of(event).first, {}, &Range::first);
        number = static_cast<uint32_t>(behind - joined.begin() - 1);
      }
      memory_[t].push_back(number);
    }
  size_ = static_cast<uint32_t>(joined.size());
}

void Resources::find_uses(const Problem& problem) {
  Names names(size_);
  uses_.resize(threads_);
  for (uint32_t t = 0; t < threads_; ++t)
    for (const Event& event : problem.trace->threads[t].events) {
      std::vector<ResourceUse> uses = uses_of(event, t, names);
      const bool buffered =
          problem.model != MemoryModel::sc && event.kind == EventKind::write && !needs_empty_buffer(event);
      if (is_access(event.kind) && !buffered)
        uses.push_back({memory_[t][uses_[t].size()], writes_value(event.kind)});
      uses_[t].push_back(std::move(uses));
    }
  // The failure looks at the end: whatever it depends on stays of interest.
  const FailurePredicate& failure = problem.trace->failure;
  std::vector<uint32_t> wanted;
  if (failure.kind == FailurePredicate::Kind::freed) wanted.push_back(names.blocks());
  if (failure.kind == FailurePredicate::Kind::deadlock)
    for (const FailurePredicate::Waiting& waiting : failure.waiting)
      for (const ResourceUse& use : uses_of(waiting.operation, waiting.thread, names))
        wanted.push_back(use.resource);
  size_ = names.end();
  always_wanted_.resize(size_);
  for (const uint32_t resource : wanted) always_wanted_[resource] = true;
}

void Resources::find_lasts(const Problem& problem) {
  lasts_.resize(size_t{size_} * threads_);
  readers_.resize(size_);
  last_reads_.resize(threads_);
  for (uint32_t t = 0; t < threads_; ++t) {
    const std::vector<Event>& events = problem.trace->threads[t].events;
    std::map<uint32_t, uint32_t> reads;  // the last of each memory
    for (uint32_t e = 0; e < events.size(); ++e) {
      for (const ResourceUse& use : uses_[t][e]) {
        Last& last = lasts_[size_t{use.resource} * threads_ + t];
        last.use = e + 1;
        if (use.writes) last.write = e + 1;
      }
      if (!is_access(events[e].kind)) continue;
      if (writes_value(events[e].kind)) {  // buffered or not
        Last& last = lasts_[size_t{memory_[t][e]} * threads_ + t];
        last.use = last.write = e + 1;
      }
      if (reads_value(events[e].kind)) reads[memory_[t][e]] = e;
    }
    last_reads_[t].resize(events.size());
    for (const auto& [resource, event] : reads) {
      last_reads_[t][event].push_back(resource);
      ++readers_[resource];
    }
  }
}

bool Resources::is_wanted(const ResourceUse& use, uint32_t thread, std::span<const uint32_t> positions) const {
  if (always_wanted_[use.resource]) return true;
  const Last* lasts = &lasts_[size_t{use.resource} * threads_];
  for (uint32_t t = 0; t < threads_; ++t)
    if (t != thread && (use.writes ? lasts[t].use : lasts[t].write) > positions[t]) return true;
  return false;
}

}  // namespace heddle
